// Bundles main.ts and page.css into ../page_bundle.cc. With --check: changes nothing, ends with 1
// where the committed bundle is not what the sources give.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "page_bundle.cc");
const limit = 100 * 1024;

async function bundledScript() {
  const result = await build({
    entryPoints: [join(here, "main.ts")],
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    target: "es2020",
    charset: "ascii",
    legalComments: "none",
  });
  return result.outputFiles[0].text.trim();
}

async function bundledStyle() {
  const source = readFileSync(join(here, "page.css"), "utf8");
  const result = await transform(source, { loader: "css", minify: true, charset: "ascii" });
  return result.code.trim();
}

// A raw string of C++: any text but one with the delimiter in it.
function literal(text) {
  if (text.includes(')page"') || text.includes("</script") || text.includes("</style")) {
    throw new Error("the bundle holds a text that would end it early");
  }
  return `R"page(${text})page"`;
}

const hash = (text) => "sha256-" + createHash("sha256").update(text).digest("base64");

const script = await bundledScript();
const style = await bundledStyle();
const size = Buffer.byteLength(script) + Buffer.byteLength(style);
const source = `// Made by src/report/page/bundle.mjs; edit the sources there.
#include "src/report/page_bundle.h"

namespace crosscut::report {

const std::string_view kPageScript = ${literal(script)};
const std::string_view kPageStyle = ${literal(style)};
const std::string_view kPageScriptHash = "${hash(script)}";
const std::string_view kPageStyleHash = "${hash(style)}";

}  // namespace crosscut::report
`;
if (size > limit) {
  console.error(`the bundle has ${size} bytes, more than ${limit}`);
  process.exit(1);
}
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== source) {
    console.error("src/report/page_bundle.cc is not current: run `npm run build` in src/report/page");
    process.exit(1);
  }
} else {
  writeFileSync(target, source);
  console.log(`page_bundle.cc: script ${script.length}, style ${style.length} bytes`);
}
