import { SkeinError } from "@skein-im/client"
import { useLingui } from "@lingui/react/macro"
import { useWhy } from "../ui/index.js"

/** Whether an error names a field: `name`, `group.name`, `users[3]`. */
export function isOf(error: unknown, field: string): boolean {
  if (!(error instanceof SkeinError) || error.field === "") return false
  const path = error.field.split(".").map((p) => p.replace(/\[\d+\]$/, ""))
  return path[path.length - 1] === field
}

/** Says what is wrong with a field, in plain words; undefined: the error is not about it. */
export function useFieldError(): (error: unknown, field: string) => string | undefined {
  const { t } = useLingui()
  const why = useWhy()
  return (error, field) => {
    if (!(error instanceof SkeinError) || !isOf(error, field)) return undefined
    switch (error.code) {
      case "too_large":
        return t`This is too long.`
      case "invalid_argument":
        return t`The server does not take this: ${error.message}`
      default:
        return why(error)
    }
  }
}
