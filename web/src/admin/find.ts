interface Named {
  id?: string
  username?: string
  displayName?: string
}

const folded = (s: string): string => s.normalize("NFKC").toLocaleLowerCase()

/** Those who are called so: each word of the question is in the name, the user name or is the id. */
export function matching<U extends Named>(users: readonly U[], question: string): readonly U[] {
  const words = folded(question).split(/\s+/).filter((w) => w !== "")
  if (words.length === 0) return users
  return users.filter((u) => {
    const text = folded(`${u.displayName ?? ""} ${u.username ?? ""}`)
    return words.every((w) => text.includes(w)) || question.trim() === u.id
  })
}
