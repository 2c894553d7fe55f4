import { SkeinError } from "@skein-im/client"

/** Whether an error names a field: `name`, `group.name`, `users[3]`, as the contract or as JSON writes it. */
export function isOf(error: unknown, field: string): boolean {
  if (!(error instanceof SkeinError) || error.field === "") return false
  const last = error.field.split(".").pop() ?? ""
  return plain(last) === plain(field)
}

const plain = (name: string): string => name.replace(/\[\d+\]$/, "").replaceAll("_", "").toLowerCase()

/** What an error says of its field, without the field's name in front: the label stands there. */
export function wordsOf(error: SkeinError): string {
  const { field, message } = error
  return field !== "" && message.startsWith(`${field} `) ? message.slice(field.length + 1) : message
}
