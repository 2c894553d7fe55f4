import { useLingui } from "@lingui/react/macro"
import { Eye, EyeOff } from "lucide-react"
import { useState } from "react"
import { Field, IconButton, type FieldProps } from "../ui/index.js"

/** A password that can be looked at. */
export function Password(props: Omit<FieldProps, "type" | "after">) {
  const { t } = useLingui()
  const [seen, setSeen] = useState(false)
  const eye = (
    <IconButton small tooltip={false} label={seen ? t`Hide password` : t`Show password`} on={seen} onClick={() => setSeen(!seen)}>
      {seen ? <EyeOff /> : <Eye />}
    </IconButton>
  )
  return <Field type={seen ? "text" : "password"} autoCapitalize="none" spellCheck={false} {...props} after={eye} />
}
