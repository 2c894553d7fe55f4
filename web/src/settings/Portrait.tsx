import { useLingui } from "@lingui/react/macro"
import { useClient, useProfiles, useUser } from "@skein-im/react"
import { PicturePicker } from "../people/PicturePicker.js"
import { nameOf } from "../timeline/names.js"
import { toast } from "../ui/index.js"

/** One's own picture, set at once. */
export function Portrait() {
  const { t } = useLingui()
  const client = useClient()
  const profiles = useProfiles()
  const me = useUser(client.user)
  const set = async (picture: string): Promise<void> => {
    const { user } = await client.call("skein.v1.UserService/UpdateProfile", { picture })
    if (user !== undefined) profiles.put([user])
    toast(t`Picture updated.`)
  }
  return <PicturePicker id={client.user} name={nameOf(me)} picture={me?.picture ?? ""} onChange={set} />
}
