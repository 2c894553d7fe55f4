/** Where in the app somebody is, by the address: each state has one, so reload, back and a shared link work. */
export type Place =
  | { room: "start" }
  | { room: "conversation"; conversation: string; focusSeq?: number; aside?: "details" | number }
  | { room: "people"; user?: string }
  | { room: "newGroup" }
  | { room: "join"; token: string }
  | { room: "search" }
  | { room: "settings"; page: string }
  | { room: "admin"; page: string; of?: string }
  | { room: "welcome" }
  | { room: "gallery" }
  | { room: "nothing" }

const idForm = /^[A-Za-z0-9_:-]{1,200}$/

export function placeOf(path: string): Place {
  const [first = "", second, third, fourth, ...more] = path.split("/").slice(1).map(decoded)
  if (more.length > 0) return { room: "nothing" }
  switch (first) {
    case "":
      return second === undefined ? { room: "start" } : { room: "nothing" }
    case "c":
      return conversationAt(second, third, fourth)
    case "people":
      return third === undefined && (second === undefined || idForm.test(second)) ? { room: "people", ...(second === undefined ? {} : { user: second }) } : { room: "nothing" }
    case "settings":
      return third === undefined ? { room: "settings", page: second ?? "" } : { room: "nothing" }
    case "admin":
      return fourth === undefined ? { room: "admin", page: second ?? "", ...(third === undefined ? {} : { of: third }) } : { room: "nothing" }
    case "join":
      return second === undefined || second === "" ? { room: "nothing" } : { room: "join", token: second }
    case "dev":
      return second === "gallery" ? { room: "gallery" } : { room: "nothing" }
  }
  if (second !== undefined) return { room: "nothing" }
  if (first === "new-group") return { room: "newGroup" }
  if (first === "search" || first === "welcome") return { room: first }
  return { room: "nothing" }
}

function conversationAt(conversation: string | undefined, third: string | undefined, fourth: string | undefined): Place {
  if (conversation === undefined || !idForm.test(conversation)) return { room: "nothing" }
  const at = { room: "conversation" as const, conversation }
  if (third === undefined) return at
  if (third === "details" && fourth === undefined) return { ...at, aside: "details" }
  const seq = /^[1-9][0-9]{0,15}$/.test(fourth ?? "") ? Number(fourth) : 0
  if (seq === 0) return { room: "nothing" }
  if (third === "m") return { ...at, focusSeq: seq }
  if (third === "t") return { ...at, aside: seq }
  return { room: "nothing" }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return "\0" // fits no form
  }
}
