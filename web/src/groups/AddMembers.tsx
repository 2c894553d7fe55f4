import { Plural, Trans, useLingui } from "@lingui/react/macro"
import { useEffect, useState } from "react"
import { useAction, useClient } from "@skein-im/react"
import { Button, Dialog, ErrorNote, toast } from "../ui/index.js"
import { PickPeople } from "./PickPeople.js"
import type { Group } from "./powers.js"

/** Adds people to a group. Who lets nobody add them is invited instead. */
export function AddMembers({ group, onClose, onDone }: { group: Group; onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [here, setHere] = useState<ReadonlySet<string>>(new Set())
  const { conversation } = group
  useEffect(() => {
    // Of a larger group the server passes over who is in it already; so it does if this fails.
    client.call("skein.v1.GroupService/ListMembers", { conversation, limit: 1000 }).then(({ members = [] }) => setHere(new Set(members.map((m) => m.user))), () => undefined)
  }, [client, conversation])
  const add = useAction(async () => {
    const r = await client.call("skein.v1.GroupService/AddMembers", { conversation, users: [...chosen] })
    const added = r.added?.length ?? 0
    const invited = r.invited?.length ?? 0
    const passed = chosen.length - added - invited
    const said = [added > 0 ? t`${added} added.` : "", invited > 0 ? t`${invited} invited. They decide whether to join.` : "", passed > 0 ? t`${passed} could not be added, or are members already.` : ""]
    toast(said.filter((x) => x !== "").join(" "))
    onDone()
    onClose()
  })
  return (
    <Dialog
      open onClose={onClose} title={t`Add people`} about={group.name}
      actions={<><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" disabled={chosen.length === 0} busy={add.pending} onClick={() => void add.run()}>{chosen.length === 0 ? <Trans>Add</Trans> : <Plural value={chosen.length} one="Add # person" other="Add # people" />}</Button></>}
    >
      <PickPeople chosen={chosen} onChange={setChosen} without={here} />
      {add.error !== undefined && <ErrorNote error={add.error} />}
    </Dialog>
  )
}
