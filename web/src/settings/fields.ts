import { SkeinError } from "@skein-im/client"
import { useLingui } from "@lingui/react/macro"
import { useWhy } from "../ui/index.js"
import { blamed, sentence } from "./blame.js"

export interface FieldErrors {
  /** What is wrong with this field, in plain words; undefined: nothing. */
  of: (field: string) => string | undefined
  /** What is no field's fault; undefined where a field says it all. */
  rest: unknown
}

/** Shows an error of the server beside the field that it is about. */
export function useFieldErrors(error: unknown, ...fields: string[]): FieldErrors {
  const { t } = useLingui()
  const why = useWhy()
  const field = blamed(error, fields)
  if (field === "") return { of: () => undefined, rest: error }
  const code = error instanceof SkeinError ? error.code : ""
  const words = (): string => {
    if (code === "bad_credentials") return field === "code" && fields.includes("password") ? t`Wrong password or code.` : field === "code" ? t`This code is wrong or was already used.` : t`This password is wrong.`
    if (code === "already_exists") return t`This user name is taken.`
    if (code === "invalid_argument" && field === "username") return t`3 to 32 letters, digits, dots, hyphens or underscores.`
    if (code === "invalid_argument" && /password/i.test(field)) return t`Between 8 and 200 characters.`
    if (code === "invalid_argument" && field === "displayName") return t`Between 1 and 64 characters, on one line.`
    if (code === "invalid_argument" || code === "too_large") return error instanceof SkeinError && error.message !== "" ? sentence(error.message) : why(error)
    return why(error)
  }
  return { of: (name) => (name === field ? words() : undefined), rest: undefined }
}
