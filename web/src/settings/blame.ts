import { SkeinError } from "@skein-im/client"

/** The last name of the path of a field: `user.displayName` and `displayName` are the same to a form. */
export function fieldOf(error: unknown): string {
  if (!(error instanceof SkeinError)) return ""
  return error.field.split(".").pop()?.replace(/\[\d+\]$/, "") ?? ""
}

/** Which of a form's fields an error is about, "" for none of them. Wrong passwords and codes name no field on the wire. */
export function blamed(error: unknown, fields: readonly string[]): string {
  const named = fieldOf(error)
  if (named !== "" && fields.includes(named)) return named
  if (!(error instanceof SkeinError)) return ""
  if (error.code === "bad_credentials") return ["code", "oldPassword", "password"].find((f) => fields.includes(f)) ?? ""
  if (error.code === "already_exists") return fields.find((f) => f === "username") ?? ""
  return ""
}

/** "name must be …" as a sentence. */
export function sentence(s: string): string {
  const text = s.trim()
  if (text === "") return text
  return text[0]!.toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".")
}
