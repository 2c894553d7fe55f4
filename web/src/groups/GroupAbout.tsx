import { Trans, useLingui } from "@lingui/react/macro"
import { useState, type FormEvent } from "react"
import { useAction, useClient } from "@skein-im/react"
import { Button, ErrorNote, Field, TextArea } from "../ui/index.js"
import { isOf, useFieldError } from "../people/says.js"
import { Pane } from "./Pane.js"
import { PicturePicker } from "../people/PicturePicker.js"
import type { Group } from "./powers.js"
import s from "./Groups.module.css"

/** Name, picture, description and announcement of a group. What did not change is not sent: somebody else may change it meanwhile. */
export function GroupAbout({ group, onBack, onDone }: { group: Group; onBack: () => void; onDone: (g: Group | undefined) => void }) {
  const { t } = useLingui()
  const client = useClient()
  const fieldError = useFieldError()
  const [was] = useState(group)
  const [name, setName] = useState(group.name)
  const [picture, setPicture] = useState(group.picture ?? "")
  const [description, setDescription] = useState(group.description ?? "")
  const [announcement, setAnnouncement] = useState(group.announcement ?? "")
  const { conversation } = group
  const save = useAction(async () => {
    let g: Group | undefined
    if (name.trim() !== was.name) g = (await client.call("skein.v1.GroupService/RenameGroup", { conversation, name: name.trim() })).group
    const change = {
      ...(picture === (was.picture ?? "") ? {} : { picture }),
      ...(description === (was.description ?? "") ? {} : { description }),
      ...(announcement === (was.announcement ?? "") ? {} : { announcement }),
    }
    if (Object.keys(change).length > 0) g = (await client.call("skein.v1.GroupService/UpdateGroup", { conversation, ...change })).group
    onDone(g)
    onBack()
  })
  const submit = (e: FormEvent): void => {
    e.preventDefault()
    void save.run()
  }
  const fields = ["name", "picture", "description", "announcement"]
  return (
    <Pane title={t`Edit the group`} onBack={onBack}>
      <form className={s.form} onSubmit={submit}>
        <PicturePicker group id={conversation} name={name} picture={picture} onChange={setPicture} error={fieldError(save.error, "picture")} />
        <Field label={t`Name`} value={name} onChange={(e) => setName(e.currentTarget.value)} required maxLength={64} error={fieldError(save.error, "name")} />
        <TextArea label={t`Description`} value={description} onChange={(e) => setDescription(e.currentTarget.value)} maxLength={500} placeholder={t`What the group is for`} error={fieldError(save.error, "description")} />
        <TextArea label={t`Announcement`} value={announcement} onChange={(e) => setAnnouncement(e.currentTarget.value)} maxLength={2000} placeholder={t`Something all members should know`} error={fieldError(save.error, "announcement")} />
        {save.error !== undefined && !fields.some((f) => isOf(save.error, f)) && <ErrorNote error={save.error} />}
        <Button look="primary" submit wide busy={save.pending}><Trans>Save</Trans></Button>
      </form>
    </Pane>
  )
}
