import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync, ftruncateSync } from "node:fs"
import { join } from "node:path"
import { Tables, type Op, type Snapshot, type Store } from "../src/store.js"
import type { Entry } from "../src/wire.js"

/**
 * Keeps everything in memory and every batch in a log: a line of JSON each, written and synced before it counts.
 * A last line that was cut off by a kill is dropped: nobody was told of it. The log is never made
 * shorter, so this store is for tests and small programs.
 */
export class FileStore implements Store {
  private readonly tables = new Tables()
  private readonly file: number

  constructor(dir: string) {
    mkdirSync(dir, { recursive: true })
    const path = join(dir, "client.log")
    this.file = openSync(path, "a+")
    const all = readFileSync(path)
    const end = all.lastIndexOf(10) + 1
    for (const line of all.subarray(0, end).toString("utf8").split("\n")) if (line !== "") this.tables.apply(JSON.parse(line) as Op[])
    ftruncateSync(this.file, end)
  }

  load(): Promise<Snapshot> {
    return Promise.resolve(this.tables.snapshot())
  }

  apply(ops: readonly Op[]): Promise<void> {
    writeSync(this.file, `${JSON.stringify(ops)}\n`)
    fsyncSync(this.file)
    this.tables.apply(ops)
    return Promise.resolve()
  }

  entries(conversation: string): Promise<Entry[]> {
    return Promise.resolve(this.tables.of(conversation))
  }

  close(): Promise<void> {
    closeSync(this.file)
    return Promise.resolve()
  }
}
