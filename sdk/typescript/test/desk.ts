/// <reference lib="dom" />
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import type { ChatClient } from "../src/index.js"

/*
 * What the tests in pages ask of a browser. They are the same for each (inpage.ts); chromium.ts and firefox.ts drive one.
 */

/** What pages of the tests have. */
export interface InPage {
  shared: typeof import("../src/tabs/index.js").shared
  Client: typeof import("../src/index.js").Client
  IndexedDBStore: typeof import("../src/index.js").IndexedDBStore
  keeps: typeof import("./suite.js").keeps
  servesOne: typeof import("./suite.js").servesOne
  pageCheck: typeof import("./suite.js").pageCheck
  client: ChatClient
  told: string[]
}

export interface Tab {
  /** Runs f in the page, and answers what it resolves with. */
  run<A, T>(f: (a: A) => T | Promise<T>, a: A): Promise<T>
  /** Resolves once f is true in the page; fails after a minute. */
  until<A>(f: (a: A) => boolean, a: A): Promise<void>
  close(): Promise<void>
  /** Resolves once its process is gone. What ran in the page may stay without an answer. */
  crash(): Promise<void>
}

/** Somebody's browser: its tabs share what they store. */
export interface Profile {
  /** A page of the server's origin, under a policy of the server's; it has `skein`, and `posted`, which tells the test an id. */
  open(): Promise<Tab>
  close(): Promise<void>
}

export interface Desk {
  profile(http: string, posted?: (id: string) => void): Promise<Profile>
  close(): Promise<void>
}

/** The page that the tests' are: small, of the server, and allowed to connect to it. */
export const pagePath = "/api/docs"

/** The script that gives a page `skein`. */
export async function script(): Promise<string> {
  const here = (path: string): string => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)))
  const contents = `export * from ${here("../src/index.js")}; export { shared } from ${here("../src/tabs/index.js")}; export * from ${here("./suite.js")}`
  const out = await build({ stdin: { contents, resolveDir: "/" }, bundle: true, format: "iife", globalName: "skein", platform: "browser", target: "es2022", write: false })
  return `${out.outputFiles[0]!.text}; globalThis.skein = { ...skein }; globalThis.posted = (id) => console.info("${mark}" + id)`
}

/** What is posted is told by the console: a page that dies after it is not waited for, as one that calls the test is. */
const mark = "posted "

/** Takes what a page said on its console. */
export function hear(text: string, posted: (id: string) => void): void {
  if (text.startsWith(mark)) posted(text.slice(mark.length))
}

/** The first of these programs that is installed; a variable of the environment may name another. */
export function program(browser: string, variable: string, names: readonly string[]): string {
  const named = process.env[variable]
  const dirs = (process.env["PATH"] ?? "").split(delimiter)
  const found = named !== undefined ? [named] : names.flatMap((name) => dirs.map((dir) => join(dir, name)))
  const there = found.find((path) => existsSync(path))
  if (there === undefined) throw new Error(`the SDK was NOT tested in ${browser}: it is not here (make deps); ${variable} says where it is`)
  return there
}
