// SPDX-License-Identifier: MIT OR Apache-2.0
//! A folder of its own for each test, with the program run inside it.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use npyz::{AutoSerialize, NpyFile, Order, WriterBuilder};
use png::{Decoder, Transformations};
use tempfile::TempDir;

/// A folder that is removed at the end of the test.
pub struct Folder(TempDir);

/// What the program printed and returned.
#[derive(Debug)]
pub struct ProgramOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program in this folder, blind to GPUs, with arguments separated by blanks.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_host-tested"));
        command.args(arguments.split_whitespace()).current_dir(self.0.path());
        command.env("CUDA_VISIBLE_DEVICES", "");
        // Built-in speeds, whatever machine this is.
        command.env("HOST_CACHE", "");
        command
    }

    pub fn host(&self, arguments: &str) -> ProgramOutput {
        ProgramOutput::from(self.command(arguments).output().unwrap())
    }

    /// Runs a command line that must succeed, without a word on stderr.
    pub fn succeed(&self, arguments: &str) -> ProgramOutput {
        let outcome = self.host(arguments);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{}", outcome.stdout);
        outcome
    }

    /// Runs a command line that must fail with this exit code and exactly this text on stderr.
    pub fn fail(&self, arguments: &str, code: i32, stderr: &str) {
        let outcome = self.host(arguments);
        assert_eq!((outcome.stderr.trim_end(), outcome.code), (stderr, Some(code)), "{arguments}");
        assert_eq!(outcome.stdout, "", "{arguments}");
    }

    /// Names of the files in it, sorted.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
        names.sort();
        names
    }

    pub fn write<T: AutoSerialize>(&self, name: &str, shape: &[u64], values: &[T]) {
        self.write_in(Order::C, name, shape, values);
    }

    pub fn write_in<T: AutoSerialize>(
        &self,
        order: Order,
        name: &str,
        shape: &[u64],
        values: &[T],
    ) {
        let options = npyz::WriteOptions::new().default_dtype().shape(shape).order(order);
        let mut writer = options.writer(File::create(self.path(name)).unwrap()).begin_nd().unwrap();
        values.iter().for_each(|value| writer.push(value).unwrap());
        writer.finish().unwrap();
    }

    /// Shape and values of an array.
    pub fn read<T: npyz::Deserialize>(&self, name: &str) -> (Vec<u64>, Vec<T>) {
        let file = NpyFile::new(File::open(self.path(name)).unwrap()).unwrap();
        (file.shape().to_vec(), file.into_vec().unwrap())
    }
}

/// A picture of a PNG file, a palette's entries as their colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Points across and down.
    pub size: [u32; 2],
    /// Of each point its grey, or red, green and blue.
    pub points: Vec<u8>,
}

impl Folder {
    /// All pictures of a PNG file: several of an animation.
    pub fn pictures(&self, name: &str) -> Vec<Picture> {
        let mut decoder = Decoder::new(BufReader::new(File::open(self.path(name)).unwrap()));
        decoder.set_transformations(Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let count = reader.info().animation_control.map_or(1, |control| control.num_frames);
        let mut picture = |_| {
            let mut points = vec![0; reader.output_buffer_size().unwrap()];
            let frame = reader.next_frame(&mut points).unwrap();
            points.truncate(frame.buffer_size());
            Picture { size: [frame.width, frame.height], points }
        };
        (0..count).map(&mut picture).collect()
    }
}

impl From<Output> for ProgramOutput {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        Self { code: output.status.code(), stdout, stderr }
    }
}

/// Whether a signal is in a set of a process, such as `SigCgt` (caught) or `SigIgn` (ignored); none where the system does
/// not tell.
pub fn has_signal(process: &str, set: &str, signal: u32) -> Option<bool> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix(set)?.strip_prefix(':'))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    // Signal 1 is bit 0.
    Some(mask >> (signal - 1) & 1 != 0)
}

/// Whether a process has set a handler for a signal; where the system does not tell, after a second.
pub fn catches(process: u32, signal: u32) -> bool {
    has_signal(&process.to_string(), "SigCgt", signal).unwrap_or_else(|| {
        thread::sleep(Duration::from_secs(1));
        true
    })
}

/// Whether the tests themselves ignore hang-ups, as under `nohup`: so do the programs that they start, then.
pub fn hang_ups_are_ignored() -> bool {
    has_signal("self", "SigIgn", 1).unwrap_or(false)
}
