// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mistakes of kernels, one each. `cargo test` runs them in the emulator, which reports each in its line.
//!
//! `cargo run -- list` prints them; `cargo run -- 7` runs number 7 on a GPU, and `cargo run -- 7 right` the same kernel
//! without its mistake. `compare.sh` beside this runs all of them under NVIDIA's compute-sanitizer, and puts both side by side.

mod kernels;

#[cfg(not(target_arch = "nvptx64"))]
mod table;

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests;

#[cfg(not(target_arch = "nvptx64"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let table = table::table();
    match arguments.first().map(String::as_str) {
        None | Some("list") => {
            for planted in &table {
                println!("{:2} {}", planted.number, planted.what);
            }
            Ok(())
        }
        Some("emulate") => {
            let module = cuda_sim::module!()?;
            for planted in &table {
                let report = match planted.emulate(&module, 0, true) {
                    Ok(()) => "nothing".to_owned(),
                    Err(report) => report.in_short(),
                };
                println!("{:2}\t{}\t{report}", planted.number, planted.what);
            }
            Ok(())
        }
        Some(number) => {
            let number: u32 = number.parse()?;
            let planted = table.iter().find(|it| it.number == number);
            let planted = planted.ok_or("there is no such fault: see `list`")?;
            let is_wrong = arguments.get(1).is_none_or(|word| word != "right");
            planted.run(&cuda_driver::Gpu::open()?, is_wrong)?;
            println!("{number} has ended");
            Ok(())
        }
    }
}
