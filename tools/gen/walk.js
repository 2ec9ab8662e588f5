// Does what the Kaitai Web IDE does with a file: compiles the specs to JavaScript with debug on,
// runs them with the npm runtime and reads every field and every instance of the tree.
//
//   node walk.js KSY_FOLDER SPEC FILE...
//
// Prints one line per file and exits with 1 when any getter of any file fails.
"use strict";

const fs = require("fs");
const path = require("path");
const Compiler = require("kaitai-struct-compiler");
const KaitaiStream = require("kaitai-struct/KaitaiStream");
const yaml = require("js-yaml");

const [folder, spec, ...names] = process.argv.slice(2);
const load = (name) => yaml.load(fs.readFileSync(path.join(folder, `${name}.ksy`), "utf8"));
const importer = { importYaml: (name) => Promise.resolve(load(name)) };

// Each compiled file is a UMD module that asks for its imports by file name.
function linker(texts) {
  const modules = {};
  return function find(name) {
    const file = `${path.basename(name)}.js`;
    if (!(file in texts)) return require(name);
    if (!(file in modules)) {
      modules[file] = {};
      new Function("exports", "require", "module", "define", texts[file])(
        modules[file], find, { exports: modules[file] }, undefined);
    }
    return modules[file];
  };
}

// Own fields first, then the getters of the class, as the IDE's tree shows them.
function members(object) {
  const fields = Object.keys(object).filter((key) => !key.startsWith("_"));
  const getters = Object.entries(
    Object.getOwnPropertyDescriptors(Object.getPrototypeOf(object)))
    .filter(([, property]) => property.get)
    .map(([key]) => key);
  return [...new Set([...fields, ...getters])];
}

function walk(object, where, seen, faults) {
  if (typeof object !== "object" || object === null || ArrayBuffer.isView(object)) return 1;
  if (object instanceof KaitaiStream || seen.has(object)) return 0;
  seen.add(object);
  let count = 1;
  const keys = Array.isArray(object) ? object.keys() : members(object);
  for (const key of keys) {
    const place = Array.isArray(object) ? `${where}[${key}]` : `${where}.${key}`;
    let value;
    try {
      value = object[key];
    } catch (error) {
      faults.push(`${place}: ${error.message || error}`);
      continue;
    }
    count += walk(value, place, seen, faults);
  }
  return count;
}

(async () => {
  const texts = await Compiler.compile("javascript", load(spec), importer, true);
  const find = linker(texts);
  const className = spec.replace(/(?:^|_)(\w)/g, (_, letter) => letter.toUpperCase());
  const Class = find(className)[className];
  for (const name of names) {
    const data = fs.readFileSync(name);
    const bytes = data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
    const faults = [];
    let count = 0;
    try {
      const root = new Class(new KaitaiStream(bytes));
      root._read();
      count = walk(root, "", new Set(), faults);
    } catch (error) {
      faults.push(`: ${error.message || error}`);
    }
    console.log(`${name}: ${faults.length ? "FAILED" : "ok"}, ${count} values`);
    for (const fault of faults.slice(0, 10)) console.log(`  ${fault}`);
    if (faults.length) process.exitCode = 1;
  }
})();
