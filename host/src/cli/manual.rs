// SPDX-License-Identifier: MIT OR Apache-2.0
//! `host completions` and `host man`: what shells and `man` know of the program, made of its own options.

use clap::{Args, Command, ValueEnum};
use clap_complete::Shell;

use super::Failure;
use problem::similar_names::near;

const COMPLETIONS: &str = "\
Examples:
  host completions bash > ~/.local/share/bash-completion/completions/host
  host completions zsh > ~/.zfunc/_host
  host completions fish > ~/.config/fish/completions/host.fish";

const MAN: &str = "\
Examples:
  host man > host.1 && man ./host.1
  host man run > host-run.1";

/// For which shell
#[derive(Args, Debug)]
#[command(after_help = COMPLETIONS)]
pub struct CompletionsArgs {
    /// Name of the shell
    #[arg(value_name = "SHELL")]
    shell: ShellName,
}

/// The shells that can be completed for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ShellName {
    Bash,
    Elvish,
    Fish,
    #[value(name = "powershell")]
    PowerShell,
    Zsh,
}

/// Of which command
#[derive(Args, Debug)]
#[command(after_help = MAN)]
pub struct ManArgs {
    /// Name of a command [default: the page of the whole program]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

/// The script of a shell.
pub fn completions(args: &CompletionsArgs, mut program: Command) -> Vec<u8> {
    let shell = match args.shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Elvish => Shell::Elvish,
        ShellName::Fish => Shell::Fish,
        ShellName::PowerShell => Shell::PowerShell,
        ShellName::Zsh => Shell::Zsh,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, "host", &mut script);
    script
}

/// A page of the manual.
///
/// # Errors
/// [`Failure::UnknownCommand`].
pub fn man(args: &ManArgs, mut program: Command) -> Result<Vec<u8>, Failure> {
    program.build();
    let command = match &args.command {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            Some(command) => command.clone(),
            None => {
                let known = program.get_subcommands().map(Command::get_name);
                let near = near(name, known.map(|name| (name, name)));
                return Err(Failure::UnknownCommand { name: name.clone(), near });
            }
        },
    };
    let title = command.get_bin_name().unwrap_or("host").replace(' ', "-");
    let mut page = Vec::new();
    let written = clap_mangen::Man::new(command).title(title).render(&mut page);
    written.expect("a vector takes any bytes");
    Ok(page)
}
