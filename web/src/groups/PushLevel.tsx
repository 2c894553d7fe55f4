import { useLingui } from "@lingui/react/macro"
import { Select } from "../ui/index.js"

const levels = ["PUSH_LEVEL_UNSPECIFIED", "PUSH_LEVEL_ALL", "PUSH_LEVEL_MENTIONS", "PUSH_LEVEL_NONE"] as const
type Level = (typeof levels)[number]

/** For which messages of a conversation the user's devices are woken. */
export function PushLevel({ now, onChange }: { now: string | undefined; onChange: (to: Level) => void }) {
  const { t } = useLingui()
  const words: Record<Level, string> = {
    PUSH_LEVEL_UNSPECIFIED: t`as in the settings`, PUSH_LEVEL_ALL: t`every message`, PUSH_LEVEL_MENTIONS: t`mentions`, PUSH_LEVEL_NONE: t`nothing`,
  }
  return <Select label={t`Notify my devices about`} value={levels.find((l) => l === now) ?? levels[0]} options={levels.map((value) => ({ value, label: words[value] }))} onChange={onChange} />
}
