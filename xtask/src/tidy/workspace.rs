//! Model of the workspace for `tidy`: crates, their manifests and their source files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::source::SourceFile;

/// All crates of the workspace.
pub struct Workspace {
    pub crates: Vec<Member>,
}

/// One crate.
pub struct Member {
    /// The package's name.
    pub name: String,
    pub manifest: Manifest,
    /// Paths of the roots that are shipped: the library's and each binary's.
    pub roots: Vec<String>,
    /// Every Rust file below the crate's folder.
    pub files: Vec<SourceFile>,
}

/// Dependencies of a manifest.
pub struct Manifest {
    /// Relative to the repository's root, with `/`.
    pub path: String,
    pub dependencies: Vec<Dependency>,
}

/// One dependency of one section.
pub struct Dependency {
    /// The package's name, whatever the crate calls it.
    pub name: String,
    /// From `[dev-dependencies]`.
    pub is_dev: bool,
    /// From 1: where the manifest names it, or 1.
    pub line: usize,
}

impl Workspace {
    /// Reads the workspace at `root`.
    ///
    /// # Errors
    /// If `cargo metadata` fails, or a source file cannot be read as Rust.
    pub fn read(root: &Path) -> Result<Workspace, String> {
        let metadata = cargo_metadata(root)?;
        let packages = metadata["packages"].as_array().ok_or("cargo metadata: no packages")?;
        let crates = packages.iter().map(|package| Member::read(root, package)).collect::<Result<_, _>>()?;
        Ok(Workspace { crates })
    }
}

fn cargo_metadata(root: &Path) -> Result<Value, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

impl Member {
    /// Returns the crate's folder, with a `/` at its end.
    pub fn folder(&self) -> &str {
        self.manifest.path.trim_end_matches("Cargo.toml")
    }

    fn read(root: &Path, package: &Value) -> Result<Member, String> {
        let name = text(package, "name")?;
        let manifest_path = text(package, "manifest_path")?;
        let path = relative(root, Path::new(&manifest_path))?;
        let manifest_text = fs::read_to_string(&manifest_path).map_err(|error| format!("{path}: {error}"))?;
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let dependencies = dependencies.map(|dependency| Dependency::read(dependency, &manifest_text));
        let manifest = Manifest { path, dependencies: dependencies.collect::<Result<_, _>>()? };
        let folder = Path::new(&manifest_path).parent().ok_or("a manifest without a folder")?;
        let files = read_files(root, folder)?;
        Ok(Member { name, manifest, roots: shipped_roots(root, package)?, files })
    }
}

impl Dependency {
    fn read(dependency: &Value, manifest: &str) -> Result<Dependency, String> {
        let name = text(dependency, "name")?;
        let is_dev = dependency["kind"].as_str() == Some("dev");
        let called = dependency["rename"].as_str().unwrap_or(&name).to_owned();
        Ok(Dependency { line: line_of(manifest, &called, is_dev), name, is_dev })
    }
}

/// The line on which `manifest` names the dependency, for the reader's sake only.
fn line_of(manifest: &str, called: &str, is_dev: bool) -> usize {
    let mut in_section = false;
    for (index, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            in_section = line.contains("dependencies") && line.contains("dev-dependencies") == is_dev;
        }
        let key = line.trim_start_matches('[').split(['.', '=', ' ']).next();
        let table_key = line.rsplit('.').next().map(|last| last.trim_end_matches(']'));
        if in_section && (key == Some(called) || line.starts_with('[') && table_key == Some(called)) {
            return index + 1;
        }
    }
    1
}

/// Roots of the library, the procedural macros and the binaries; tests, benches and examples are not shipped.
fn shipped_roots(root: &Path, package: &Value) -> Result<Vec<String>, String> {
    const NOT_SHIPPED: [&str; 4] = ["test", "bench", "example", "custom-build"];
    let mut roots = Vec::new();
    for target in package["targets"].as_array().into_iter().flatten() {
        let kinds = target["kind"].as_array().into_iter().flatten();
        if kinds.filter_map(Value::as_str).all(|kind| !NOT_SHIPPED.contains(&kind)) {
            roots.push(relative(root, Path::new(&text(target, "src_path")?))?);
        }
    }
    Ok(roots)
}

/// Every Rust file below `folder`, with those marked that only tests compile.
fn read_files(root: &Path, folder: &Path) -> Result<Vec<SourceFile>, String> {
    let mut paths = Vec::new();
    list_rust_files(folder, &mut paths)?;
    let mut files = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let path = relative(root, &path)?;
        let is_test = path.split('/').any(|part| ["tests", "tests.rs", "benches"].contains(&part));
        files.push(SourceFile::new(&path, text, is_test)?);
    }
    mark_test_modules(&mut files);
    Ok(files)
}

fn list_rust_files(folder: &Path, paths: &mut Vec<std::path::PathBuf>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() && !path.ends_with("target") {
            list_rust_files(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(())
}

/// Marks the files of `#[cfg(test)] mod name;` and everything below them.
fn mark_test_modules(files: &mut [SourceFile]) {
    let mut modules = BTreeSet::new();
    for file in files.iter() {
        let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        let below = match name {
            "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
            _ => format!("{folder}/{}", name.trim_end_matches(".rs")),
        };
        modules.extend(file.test_modules().iter().map(|module| format!("{below}/{module}")));
    }
    for file in files {
        let is_of = |module: &String| {
            file.path.strip_prefix(module.as_str()).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        file.is_test |= modules.iter().any(is_of);
    }
}

fn relative(root: &Path, path: &Path) -> Result<String, String> {
    let path = path.strip_prefix(root).map_err(|_| format!("{}: outside the repository", path.display()))?;
    Ok(path.to_string_lossy().replace('\\', "/"))
}

fn text(value: &Value, key: &str) -> Result<String, String> {
    value[key].as_str().map(str::to_owned).ok_or_else(|| format!("cargo metadata: no {key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_is_found_in_its_own_section() {
        let manifest = "[dependencies]\nmodel.workspace = true\n\n[dev-dependencies]\nmodel = \"1\"\n\n\
                        [dependencies.check]\npath = \"x\"\n";
        assert_eq!(line_of(manifest, "model", false), 2);
        assert_eq!(line_of(manifest, "model", true), 5);
        assert_eq!(line_of(manifest, "check", false), 7);
        assert_eq!(line_of(manifest, "absent", false), 1);
    }

    #[test]
    fn files_of_test_modules_are_marked_with_what_is_below() {
        let file = |path: &str, text: &str| SourceFile::new(path, text.to_owned(), false).expect("Rust");
        let mut files = [
            file("c/src/lib.rs", "#[cfg(test)] mod twin; mod store;"),
            file("c/src/store.rs", "#[cfg(test)] mod probe;"),
            file("c/src/store/probe.rs", ""),
            file("c/src/twin.rs", ""),
            file("c/src/twin/deep.rs", ""),
            file("c/src/twins.rs", ""),
        ];
        mark_test_modules(&mut files);
        let marked: Vec<bool> = files.iter().map(|file| file.is_test).collect();
        assert_eq!(marked, [false, false, true, true, true, false]);
    }

    #[test]
    fn this_workspace_is_read_with_renames_resolved() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a parent");
        let workspace = Workspace::read(root).expect("the workspace");
        let has = |name: &str| workspace.crates.iter().any(|member| member.name == name);
        assert!(has("xtask") && has("seriatim-model") && !has("model"));
        let lab = workspace.crates.iter().find(|member| member.name == "seriatim-lab").expect("the lab");
        let check = lab.manifest.dependencies.iter().find(|dependency| dependency.name == "seriatim-check");
        assert!(check.is_some_and(|check| check.line > 1));
    }
}
