//! What the standard library does not offer: the identity of a file, a rename that replaces nothing, who may write.
//!
//! Elsewhere than on Unix these fall back to what can be had: paths instead of identities, a check before the rename.

use std::{io, path::Path};

/// What two names of one file have in common: device and number of the file.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|about| identity_of(&about))
}

/// As [`identity`], of a file that is open.
#[cfg(unix)]
pub(crate) fn identity_of(about: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (about.dev(), about.ino())
}

#[cfg(not(unix))]
pub(crate) fn identity(_: &Path) -> Option<(u64, u64)> {
    None
}

/// Renames a file unless the new name is taken, in one step where the file system can do so.
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::{
            fs::{CWD, RenameFlags, renameat_with},
            io::Errno,
        };
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // The file system does not know the flag.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            renamed => return Ok(renamed?),
        }
    }
    if to.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    std::fs::rename(from, to)
}

/// Whether this account may write to a file and to the folder that it is in.
pub(crate) fn may_write(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{Access, access};
        access(path, Access::WRITE_OK).is_ok() && access(super::folder_of(path), Access::WRITE_OK).is_ok()
    }
    #[cfg(not(unix))]
    {
        std::fs::metadata(path).is_ok_and(|about| !about.permissions().readonly())
    }
}

/// Takes everybody else's right to read or write a file; elsewhere than on Unix the folder's rights must do.
pub(crate) fn for_owner_only(file: &std::fs::File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(std::fs::Permissions::from_mode(0o600))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(())
    }
}
