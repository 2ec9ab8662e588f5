// Compiles all specs of a folder with the npm build of the Kaitai Struct compiler.
//
//   node compile.js KSY_FOLDER TARGET... > result.json
//
// A target is a language of the compiler, with ":debug" for code that records the byte range of
// every field, or "all" for every language. The result maps target -> {"files": {path: text}}
// or {"errors": [{"spec", "message"}]}.
"use strict";

const fs = require("fs");
const path = require("path");
const Compiler = require("kaitai-struct-compiler");
const yaml = require("js-yaml");

const folder = process.argv[2];
const targets = process.argv[3] === "all" ? Compiler.languages : process.argv.slice(3);

const load = (name) => yaml.load(fs.readFileSync(path.join(folder, `${name}.ksy`), "utf8"));
const importer = { importYaml: (name) => Promise.resolve(load(name)) };
const specs = fs
  .readdirSync(folder)
  .filter((file) => file.endsWith(".ksy"))
  .map((file) => file.slice(0, -4))
  .sort();

async function compile(target) {
  const [language, mode] = target.split(":");
  const files = {};
  const errors = [];
  for (const spec of specs) {
    try {
      Object.assign(files, await Compiler.compile(language, load(spec), importer, mode === "debug"));
    } catch (error) {
      errors.push({ spec, message: String(error.message || error) });
    }
  }
  return errors.length ? { errors } : { files };
}

(async () => {
  const result = {};
  for (const target of targets) result[target] = await compile(target);
  process.stdout.write(JSON.stringify(result));
})();
