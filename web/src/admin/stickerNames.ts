/** What a file is called, as the name of a sticker or an emoji: [a-z0-9_+-]{1,32}. "" where nothing of it can be in one. */
export function nameFrom(file: string): string {
  return file.replace(/\.[^.]*$/, "").normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^a-z0-9_+-]+/g, "_").replace(/^_+|_+$/g, "").slice(0, 32)
}

/** Names for files, each its own: the second of a name is name_2. */
export function namesFrom(files: readonly string[]): string[] {
  const taken = new Set<string>()
  return files.map((f) => {
    const base = nameFrom(f) || "sticker"
    let name = base
    for (let n = 2; taken.has(name); n++) name = `${base.slice(0, 28)}_${n}`
    taken.add(name)
    return name
  })
}
