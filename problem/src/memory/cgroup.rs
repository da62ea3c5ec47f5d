// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory limits of control groups: containers and batch systems set them, often on a group above that of
//! the process.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// What the groups of this process leave it; `None` where there are none, or none with a limit.
pub fn free() -> Option<u64> {
    free_under(Path::new("/"))
}

/// What the groups of this process leave it, by the files of a system whose root folder is `root`.
fn free_under(root: &Path) -> Option<u64> {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let mounts: Vec<Mount> = mounts.lines().filter_map(Mount::parse).collect();
    let of_line = |line: &str| {
        let (version, path) = membership(line)?;
        let of_mount = |mount: &Mount| {
            let within = mount.folder_of(path).filter(|_| mount.version == version)?;
            least_free(&root.join(below_root(&mount.point)), &within, version)
        };
        mounts.iter().filter_map(of_mount).min()
    };
    groups.lines().filter_map(of_line).min()
}

/// The two kinds of hierarchies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// The files of a group: its limit, what it uses, and what of this is page cache that nobody has
    /// used of late, by its name in `memory.stat`.
    fn files(self) -> [&'static str; 3] {
        match self {
            Self::One => ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"],
            Self::Two => ["memory.max", "memory.current", "inactive_file"],
        }
    }
}

/// The kind and the path of a group that limits memory, from a line of `/proc/self/cgroup`:
/// `0::/path`, or `4:cpu,memory:/path`.
fn membership(line: &str) -> Option<(Version, &str)> {
    let (number, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    match controllers {
        "" if number == "0" => Some((Version::Two, path)),
        _ if controllers.split(',').any(|one| one == "memory") => Some((Version::One, path)),
        _ => None,
    }
}

/// Where a hierarchy of groups is mounted.
#[derive(Debug, PartialEq)]
struct Mount {
    version: Version,
    /// The group that is mounted: in a container not always the first.
    root: String,
    /// The folder on which.
    point: PathBuf,
}

impl Mount {
    /// From a line of `/proc/self/mountinfo`:
    /// `35 31 0:32 /root /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory`.
    fn parse(line: &str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3).map(unescape);
        let (root, point) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        let version = match (kind.next()?, kind.nth(1)?) {
            ("cgroup2", _) => Version::Two,
            ("cgroup", options) if options.split(',').any(|one| one == "memory") => Version::One,
            _ => return None,
        };
        Some(Self { version, root, point: point.into() })
    }

    /// A group's folder below the mount's.
    fn folder_of(&self, group: &str) -> Option<PathBuf> {
        let root = Path::new(&self.root);
        // A process sees its groups from its own root on: those above it begin with `..`.
        let within = Path::new(group).strip_prefix(root).ok()?;
        let plain = |part: Component| matches!(part, Component::Normal(_));
        within.components().all(plain).then(|| within.to_owned())
    }
}

/// Blanks and the like are written in octal.
fn unescape(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .into_iter()
        .fold(text.to_owned(), |text, (code, character)| text.replace(code, character))
}

/// A path as one below some root.
fn below_root(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

/// The least that a group leaves, or any above it: a limit holds for all below.
fn least_free(mount: &Path, group: &Path, version: Version) -> Option<u64> {
    group.ancestors().filter_map(|group| free_of(&mount.join(group), version)).min()
}

/// What one group leaves.
fn free_of(group: &Path, version: Version) -> Option<u64> {
    let [limit, usage, cache] = version.files();
    let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    // `max` is no number. Where there is no limit in version 1 it is more than any machine has.
    let limit = number(limit)?;
    let statistics = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cached = statistics.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        (name == cache).then(|| value.trim().parse::<u64>().ok())?
    });
    // The kernel takes such pages back before it refuses any.
    let used = number(usage)?.saturating_sub(cached.unwrap_or(0));
    Some(limit.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A system's files.
    struct System(tempfile::TempDir);

    impl System {
        fn new(cgroup: &str, mountinfo: &str) -> Self {
            let system = Self(tempfile::tempdir().unwrap());
            system.write("proc/self/cgroup", cgroup);
            system.write("proc/self/mountinfo", mountinfo);
            system
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// A group of version 2 with these numbers of MiB.
        fn v2(&self, group: &str, limit: &str, used: u64, cached: u64) {
            let file = |name: &str| format!("sys/fs/cgroup/{group}/{name}");
            let limit = limit.parse().map_or(limit.to_owned(), |mib: u64| (mib * MIB).to_string());
            self.write(&file("memory.max"), &format!("{limit}\n"));
            self.write(&file("memory.current"), &format!("{}\n", used * MIB));
            let stat = format!("anon 5\nfile 7\ninactive_file {}\nactive_file 9\n", cached * MIB);
            self.write(&file("memory.stat"), &stat);
        }

        /// A group of version 1.
        fn v1(&self, group: &str, limit: u64, used: u64, cached: u64) {
            let file = |name: &str| format!("sys/fs/cgroup/memory/{group}/{name}");
            self.write(&file("memory.limit_in_bytes"), &format!("{limit}\n"));
            self.write(&file("memory.usage_in_bytes"), &format!("{}\n", used * MIB));
            let stat = format!("inactive_file 3\ntotal_inactive_file {}\n", cached * MIB);
            self.write(&file("memory.stat"), &stat);
        }

        fn free(&self) -> Option<u64> {
            free_under(self.0.path())
        }
    }

    const V2: &str = "\
24 1 0:22 / /proc rw - proc proc rw
30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate
";
    const V1: &str = "\
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

    #[test]
    fn the_least_of_all_groups_above_counts() {
        let system = System::new("0::/slurm/job7/step0\n", V2);
        system.v2("slurm/job7/step0", "max", 100, 0);
        system.v2("slurm/job7", "1024", 300, 0);
        system.v2("slurm", "65536", 400, 0);
        assert_eq!(system.free(), Some(724 * MIB));
        // A neighbour in the group above may have used it up.
        system.v2("slurm", "1000", 900, 0);
        assert_eq!(system.free(), Some(100 * MIB));
        system.v2("slurm/job7/step0", "150", 100, 0);
        assert_eq!(system.free(), Some(50 * MIB));
        system.v2("slurm/job7/step0", "150", 151, 0);
        assert_eq!(system.free(), Some(0));
    }

    #[test]
    fn page_cache_that_can_be_taken_back_counts_as_free() {
        let system = System::new("0::/job\n", V2);
        system.v2("job", "1024", 1000, 900);
        assert_eq!(system.free(), Some(924 * MIB));
        let system = System::new("4:memory:/job\n0::/\n", V1);
        system.v1("job", 1024 * MIB, 1000, 900);
        assert_eq!(system.free(), Some(924 * MIB));
    }

    #[test]
    fn groups_of_version_1_are_walked_up_too() {
        let system = System::new("5:cpuset:/other\n4:cpu,memory:/batch/job\n0::/batch\n", V1);
        system.v1("batch/job", 0x7fff_ffff_ffff_f000, 10, 0);
        system.v1("batch", 2048 * MIB, 48, 0);
        assert_eq!(system.free(), Some(2000 * MIB));
    }

    #[test]
    fn no_limit_is_none() {
        let system = System::new("0::/job\n", V2);
        assert_eq!(system.free(), None);
        system.v2("job", "max", 100, 0);
        assert_eq!(system.free(), None);
        assert_eq!(System::new("", "").free(), None);
        assert_eq!(free_under(Path::new("/nowhere")), None);
    }

    /// In a container the mount shows the groups from the container's own on.
    #[test]
    fn a_mount_may_begin_within_the_hierarchy() {
        let mounts = V2.replace("0:26 / ", "0:26 /docker/c\\0401 ");
        let system = System::new("0::/docker/c 1/work\n", &mounts);
        system.v2("work", "500", 100, 0);
        system.v2("", "450", 200, 0);
        assert_eq!(system.free(), Some(250 * MIB));
        // With a namespace of its own it is the root of what it sees.
        let system = System::new("0::/\n", V2);
        system.v2("", "450", 150, 0);
        assert_eq!(system.free(), Some(300 * MIB));
        // A group outside of what is mounted cannot be seen.
        let system = System::new("0::/../outside\n", V2);
        system.v2("../outside", "1", 0, 0);
        assert_eq!(system.free(), None);
    }
}
