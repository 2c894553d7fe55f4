import { Trans, useLingui } from "@lingui/react/macro"
import { useState, type FormEvent } from "react"
import { useAction, useClient } from "@skein-im/react"
import { Button, Dialog, ErrorNote, TextArea, toast } from "../ui/index.js"
import { useBook } from "./book.js"
import { useCalled } from "./Person.js"
import { isOf, useFieldError } from "./says.js"

/** Asks somebody to be a contact, with a few words. */
export function AddDialog({ user, onClose }: { user: string; onClose: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const { read } = useBook()
  const name = useCalled(user)
  const fieldError = useFieldError()
  const [text, setText] = useState("")
  const ask = useAction(async () => {
    const { contact } = await client.call("skein.v1.ContactService/RequestContact", { user, message: text.trim() })
    read()
    toast(contact?.state === "CONTACT_STATE_CONTACT" ? t`You and ${name} are now contacts.` : t`Request sent to ${name}.`)
    onClose()
  })
  const submit = (e: FormEvent): void => {
    e.preventDefault()
    void ask.run()
  }
  const wait = ask.error?.code === "rate_limited" ? Math.ceil(ask.error.retryAfterMs / 3_600_000) : 0
  return (
    <Dialog
      open onClose={onClose} size="s" title={t`Add ${name} as a contact`} about={t`They see your name and this message.`}
      actions={<><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" busy={ask.pending} onClick={() => void ask.run()}><Trans>Send request</Trans></Button></>}
    >
      <form onSubmit={submit}>
        <TextArea label={t`Message (optional)`} value={text} onChange={(e) => setText(e.currentTarget.value)} maxLength={200} autoFocus placeholder={t`Hi, we met at…`} error={fieldError(ask.error, "message")} hint={`${text.length} / 200`} />
        {wait > 1 ? <p role="alert"><Trans>They declined recently. You can ask again in {wait} hours.</Trans></p> : ask.error !== undefined && !isOf(ask.error, "message") && <ErrorNote error={ask.error} />}
      </form>
    </Dialog>
  )
}
