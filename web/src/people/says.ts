import { SkeinError } from "@skein-im/client"
import { useLingui } from "@lingui/react/macro"
import { useWhy } from "../ui/index.js"
import { isOf, wordsOf } from "./fields.js"

export { isOf }

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
        return t`This ${wordsOf(error)}.`
      default:
        return why(error)
    }
  }
}
