import { Trans, useLingui } from "@lingui/react/macro"
import type { Request, Response } from "@skein-im/client"
import { useAction, useClient, useEvent } from "@skein-im/react"
import { ShieldBan } from "lucide-react"
import { Link } from "wouter"
import { Choice, ErrorNote, Switch } from "../ui/index.js"
import { Page, Reading, Row, Section } from "./parts.js"
import { useLoad } from "./useLoad.js"
import s from "./Settings.module.css"

type Method = "skein.v1.UserService/UpdateProfile"
type Settings = Omit<Response<Method>, "user">
type Change = Pick<Request<Method>, "dmPolicy" | "findPolicy" | "groupPolicy" | "presencePolicy" | "hideReads">

/** Who may write to me, find me, add me to groups, see when I am there, and how far I have read. Each change counts at once. */
export function Privacy() {
  const { t } = useLingui()
  const client = useClient()
  const now = useLoad<Settings>((signal) => client.call("skein.v1.UserService/UpdateProfile", {}, { signal }))
  useEvent("account", ({ type }) => {
    if (type === "PROFILE_CHANGED") now.reload()
  })
  const save = useAction(async (change: Change) => {
    const was = now.data
    now.set((w) => ({ ...w, ...change })) // at once; what the server says counts
    try {
      now.set(await client.call("skein.v1.UserService/UpdateProfile", change))
    } catch (e) {
      if (was !== undefined) now.set(was)
      throw e
    }
  })
  const set = (change: Change): void => void save.run(change)
  return (
    <Page title={t`Privacy`} about={<Trans>People you have blocked can do none of this.</Trans>}>
      {save.error !== undefined && <ErrorNote error={save.error} />}
      <Reading of={now}>
        {(p) => (
          <>
            <Section>
              <div className={s.pad}>
                <Choice label={t`Who can message me`} value={p.dmPolicy ?? "DM_POLICY_CONTACTS"} onChange={(dmPolicy) => set({ dmPolicy })}
                  options={[{ value: "DM_POLICY_EVERYONE", label: t`Everyone` }, { value: "DM_POLICY_CONTACTS", label: t`My contacts`, about: t`Others can send you a request.` }, { value: "DM_POLICY_NOBODY", label: t`Nobody`, about: t`You can still write to others.` }]} />
              </div>
              <div className={s.pad}>
                <Choice label={t`Who can find me by name`} value={p.findPolicy ?? "FIND_POLICY_ANYONE"} onChange={(findPolicy) => set({ findPolicy })}
                  options={[{ value: "FIND_POLICY_ANYONE", label: t`Everyone` }, { value: "FIND_POLICY_CONTACTS", label: t`My contacts` }, { value: "FIND_POLICY_NOBODY", label: t`Nobody` }]} />
              </div>
              <div className={s.pad}>
                <Choice label={t`Who can add me to groups`} value={p.groupPolicy ?? "GROUP_POLICY_ANYONE"} onChange={(groupPolicy) => set({ groupPolicy })}
                  options={[{ value: "GROUP_POLICY_ANYONE", label: t`Everyone` }, { value: "GROUP_POLICY_CONTACTS", label: t`My contacts`, about: t`Others can invite you, and you decide.` }, { value: "GROUP_POLICY_NOBODY", label: t`Nobody`, about: t`Others can invite you, and you decide.` }]} />
              </div>
              <div className={s.pad}>
                <Choice label={t`Who can see when I’m online or was last seen`} value={p.presencePolicy ?? "PRESENCE_POLICY_CONTACTS"} onChange={(presencePolicy) => set({ presencePolicy })}
                  options={[{ value: "PRESENCE_POLICY_EVERYONE", label: t`Everyone` }, { value: "PRESENCE_POLICY_CONTACTS", label: t`My contacts` }, { value: "PRESENCE_POLICY_NOBODY", label: t`Nobody` }]} />
              </div>
            </Section>
            <Section about={<Trans>If you turn this off, you don’t see read receipts from others either.</Trans>}>
              <div className={s.slot}><Switch label={t`Show how far I have read`} checked={p.hideReads !== true} onChange={(on) => set({ hideReads: !on })} /></div>
            </Section>
            <Section>
              <Link href="/people" className={s.rowButton}><Row icon={<ShieldBan />} title={<Trans>Blocked people</Trans>} about={<Trans>In the list of people.</Trans>} /></Link>
            </Section>
          </>
        )}
      </Reading>
    </Page>
  )
}
