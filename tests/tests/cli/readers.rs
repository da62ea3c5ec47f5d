// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is written, read by the programs that it is for: numpy, Pillow, VTK, scipy. It asks for a Python that has them:
//! `HOST_TEST_PYTHON=…/bin/python cargo test -p tests --test cli readers -- --nocapture`.

use std::process::Command;

use super::support::Folder;

const SCRIPT: &str = r#"
import sys
import numpy as np
from PIL import Image
from scipy.io import netcdf_file
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkVersion
from vtkmodules.vtkIOXML import vtkXMLImageDataReader
import xml.etree.ElementTree as ET

print("numpy", np.__version__, "Pillow", Image.__version__, "VTK", vtkVersion.GetVTKVersion())
u = np.load("u_0040.npy")
assert u.dtype == np.float32 and u.shape == (30, 40) and np.isfinite(u).all()
h = np.load("half.npy")
assert h.dtype == np.float16 and h.shape == (8, 9)
print("numpy: u", u.shape, u.dtype, "from", u.min(), "to", u.max())

files = [entry.get("file") for entry in ET.parse("all.pvd").getroot().iter("DataSet")]
times = [float(entry.get("timestep")) for entry in ET.parse("all.pvd").getroot().iter("DataSet")]
assert files == ["all_0000.vti", "all_0020.vti", "all_0040.vti"], files
assert times[0] == 0 and times[2] == 2 * times[1] > 0, times
reader = vtkXMLImageDataReader()
reader.SetFileName(files[-1])
reader.Update()
image = reader.GetOutput()
assert image.GetDimensions() == (40, 30, 1), image.GetDimensions()
for name in ["u", "v"]:
    values = vtk_to_numpy(image.GetPointData().GetArray(name)).reshape(30, 40)
    assert (values == np.load(f"{name}_0040.npy")).all(), name
print("VTK:", files, "hold what numpy reads, of times", times)

reader.SetFileName("ball.vti")
reader.Update()
values = vtk_to_numpy(reader.GetOutput().GetPointData().GetArray("u")).reshape(6, 7, 8)
assert values.dtype == np.float64 and (values == np.load("ball.npy")).all()
print("VTK: a grid of", reader.GetOutput().GetDimensions(), "of", values.dtype)

with netcdf_file("ball.nc", mmap=False) as file:
    assert file.variables["u"].dimensions == ("z", "y", "x") and file.step == 1
    assert (file.variables["u"][:] == np.load("ball.npy")).all()
    assert (file.variables["x"][:] == np.arange(8)).all()
with netcdf_file("end.nc", mmap=False) as file:
    for name in ["u", "v"]:
        assert (file.variables[name][:] == np.load(f"{name}_0040.npy")).all(), name
    print("scipy: NetCDF of", sorted(file.variables), "after", file.time)

picture = np.asarray(Image.open("u_0040.png"))
low, high = u.min(), u.max()
assert abs(picture - (u - low) / (high - low) * 255).max() <= 0.51
film = Image.open("film.png")
assert film.n_frames == 3 and film.is_animated, film.n_frames
print("Pillow: a picture of", picture.shape, "and an animation of", film.n_frames)
np.save("bytes.npy", np.arange(72, dtype=np.uint8).reshape(8, 9))
np.save("bools.npy", np.asfortranarray(np.eye(8, 9, dtype=bool)))
np.save("big.npy", np.arange(72, dtype=">i4").reshape(8, 9))
Image.fromarray((np.arange(72, dtype=np.uint16) * 900).reshape(8, 9)).save("grey.png")
"#;

const BACK: &str = r#"
import numpy as np
assert (np.load("bytes.out.npy") == np.arange(72).reshape(8, 9)).all()
assert (np.load("bools.out.npy") == np.eye(8, 9)).all()
assert (np.load("big.out.npy") == np.arange(72).reshape(8, 9)).all()
grey = np.load("grey.out.npy")
assert (grey == (np.arange(72, dtype=np.float32) * 900 / np.float32(65535)).reshape(8, 9)).all()
print("integers, truth values and a grey picture of 16 bits come back as they were")
"#;

#[test]
fn numpy_pillow_vtk_and_scipy_read_what_is_written() {
    let Ok(python) = std::env::var("HOST_TEST_PYTHON") else { return };
    let folder = Folder::new();
    let run = |script: &str| {
        let mut command = Command::new(&python);
        command.args(["-c", script]).current_dir(folder.path("."));
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        print!("{}", String::from_utf8_lossy(&output.stdout));
    };
    let example =
        "example gray-scott --size 30x40 --dtype f32 --steps 40 --every 20 --engine cpu --quiet";
    folder.succeed(&format!("{example} --output all_{{step:04}}.vti"));
    folder.succeed(&format!("{example} --output {{field}}_{{step:04}}.npy"));
    folder.succeed(&format!("{example} --output {{field}}_{{step:04}}.png --colours grey"));
    folder.succeed(&format!("{example} --fields u --output film.png"));
    folder.succeed("run star2d1r --size 8x9 --dtype f16 --engine cpu --quiet --output half.npy");
    let ball = "run star3d1r --size 6x7x8 --dtype f64 --start gauss --engine cpu --quiet";
    folder.succeed(&format!("{ball} --output ball.vti"));
    folder.succeed(&format!("{ball} --output ball.nc"));
    let end = "example gray-scott --size 30x40 --dtype f32 --steps 40 --engine cpu --quiet";
    folder.succeed(&format!("{end} --output end.nc"));
    folder.succeed(&format!("{ball} --output ball.npy"));
    run(SCRIPT);
    for (name, end) in [("bytes", "npy"), ("bools", "npy"), ("big", "npy"), ("grey", "png")] {
        let input = format!("--input {name}.{end} --output {name}.out.npy");
        folder.succeed(&format!("run star2d1r --engine cpu --steps 0 --quiet {input}"));
    }
    run(BACK);
}
