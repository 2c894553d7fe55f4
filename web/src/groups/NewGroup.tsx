import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { useState, type FormEvent } from "react"
import { useLocation } from "wouter"
import { useAction, useClient } from "@skein-im/react"
import { Button, ErrorNote, Field, toast } from "../ui/index.js"
import { Frame } from "../people/PeoplePage.js"
import { isOf, useFieldError } from "../people/says.js"
import { PickPeople } from "./PickPeople.js"
import { PicturePicker } from "../people/PicturePicker.js"
import s from "./Groups.module.css"

/** Makes a group: its name, a picture, and who is in it from the beginning. */
export function NewGroup() {
  const { t } = useLingui()
  const client = useClient()
  const [, go] = useLocation()
  const fieldError = useFieldError()
  const [name, setName] = useState("")
  const [picture, setPicture] = useState("")
  const [members, setMembers] = useState<readonly string[]>([])
  const [missing, setMissing] = useState(false)
  const [requestId] = useState(() => crypto.randomUUID()) // the same group, however often it is asked
  const make = useAction(async () => {
    const { group, invited } = await client.call("skein.v1.GroupService/CreateGroup", { name: name.trim(), members: [...members], requestId })
    const conversation = group.conversation
    if (picture !== "") await client.call("skein.v1.GroupService/UpdateGroup", { conversation, picture })
    const asked = invited?.length ?? 0
    if (asked > 0) toast(t`${asked} invited. They decide whether to join.`)
    go(`/c/${conversation}`)
  })
  const submit = (e: FormEvent): void => {
    e.preventDefault()
    setMissing(name.trim() === "")
    if (name.trim() !== "") void make.run()
  }
  return (
    <Frame title={t`New group`} onBack={() => history.back()}>
      <form className={s.form} onSubmit={submit} noValidate>
        <PicturePicker group id="new" name={name || t`Group`} picture={picture} onChange={setPicture} error={fieldError(make.error, "picture")} />
        <Field label={t`Group name`} value={name} onChange={(e) => setName(e.currentTarget.value)} maxLength={64} autoFocus required autoComplete="off" error={missing && name.trim() === "" ? t`Give the group a name.` : fieldError(make.error, "name")} />
        <section className={s.block}>
          <h2 className={s.heading}><span><Trans>Members</Trans></span>{members.length > 0 && <Plural value={members.length} one="# chosen" other="# chosen" />}</h2>
          <PickPeople chosen={members} onChange={setMembers} />
        </section>
        {make.error !== undefined && !isOf(make.error, "name") && !isOf(make.error, "picture") && <ErrorNote error={make.error} />}
        <Button look="primary" wide submit busy={make.pending}><Trans>Create group</Trans></Button>
      </form>
    </Frame>
  )
}
