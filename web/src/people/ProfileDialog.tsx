import { useLingui } from "@lingui/react/macro"
import { Dialog } from "../ui/index.js"
import { Profile } from "./Profile.js"

/** Somebody's profile, above whatever is open. */
export function ProfileDialog({ user, onClose }: { user: string; onClose: () => void }) {
  const { t } = useLingui()
  return <Dialog open onClose={onClose} title={t`Profile`}><Profile key={user} user={user} onGone={onClose} /></Dialog>
}
