import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore, type ClipboardEvent, type DragEvent, type KeyboardEvent, type RefObject } from "react"
import { useLingui } from "@lingui/react/macro"
import { Check, SendHorizontal } from "lucide-react"
import { useClient, useTyping } from "@skein-im/react"
import type { Message } from "@skein-im/client"
import { ContextMenu, IconButton, MenuItem, Spinner, cx, toast, useWhy, later } from "../ui/index.js"
import { isAdmin, useGroup } from "../timeline/group.js"
import { mayOf } from "../timeline/may.js"
import { useTalk } from "../timeline/talk.js"
import { AddMenu } from "./AddMenu.js"
import { useBarrier, useSlow } from "./barrier.js"
import type { CompletionHandle, Offered } from "./Completion.js"
import { useDraft } from "./drafts.js"
import { EmojiButton } from "./EmojiButton.js"
import type { PickedSticker } from "./EmojiPicker.js"
import type { Ready } from "./outgoing.js"
import type { Recorded } from "./recorder.js"
import type { Later } from "./ScheduleDialog.js"
import { anySent, sendFiles } from "./sendFiles.js"
import { canRecord, MicButton, useVoice } from "./VoiceBar.js"
import { enterSends } from "../settings/preferences.js"
import s from "./Composer.module.css"

const Completion = later(() => import("./Completion.js").then((m) => m.Completion))
const State = later(() => import("./State.js").then((m) => m.State))
const Blocked = later(() => import("./Blocked.js").then((m) => m.Blocked))
const Tray = later(() => import("./Tray.js").then((m) => m.Tray))
const AttachDialog = later(() => import("./AttachDialog.js").then((m) => m.AttachDialog))
const PollDialog = later(() => import("./PollDialog.js").then((m) => m.PollDialog))
const ScheduleDialog = later(() => import("./ScheduleDialog.js").then((m) => m.ScheduleDialog))

/** Where one writes. `thread`: into the thread of that message. */
export function Composer({ conversation, thread = 0 }: { conversation: string; thread?: number }) {
  const barrier = useBarrier(conversation)
  const filesSent = useSyncExternalStore(anySent.subscribe, anySent.getSnapshot)
  return (
    <div className={s.composer}>
      {filesSent && <Tray conversation={conversation} thread={thread} />}
      {barrier === undefined ? <Writing key={`${conversation} ${thread}`} conversation={conversation} thread={thread} /> : <Blocked conversation={conversation} barrier={barrier} />}
    </div>
  )
}

function Writing({ conversation, thread }: { conversation: string; thread: number }) {
  const { t } = useLingui()
  const why = useWhy()
  const client = useClient()
  const draft = useDraft(conversation, thread)
  const [talk, { reply, edit }] = useTalk(conversation, thread)
  const group = useGroup(conversation)
  const slow = useSlow(conversation)
  const { typing } = useTyping(conversation)
  const area = useRef<HTMLTextAreaElement>(null)
  const chooser = useRef<HTMLInputElement>(null)
  const [edited, setEdited] = useState("")
  const [busy, setBusy] = useState(false)
  const [attached, setAttached] = useState<readonly Ready[]>([])
  const [dialog, setDialog] = useState<"poll" | "later" | "scheduled" | undefined>(undefined)
  const [over, setOver] = useState(false)
  const text = edit === undefined ? draft.text : edited
  const setText = useCallback((now: string) => (edit === undefined ? draft.set(now) : setEdited(now)), [edit, draft.set])
  /** Whether something may be completed, or somebody be mentioned. */
  const completes = /[@:]|^\//.test(text)
  const completion = useRef<CompletionHandle | null>(null)
  const [offered, setOffered] = useState<Offered | undefined>(undefined)
  const send = useCallback((files: readonly Ready[], replyTo: number, silent: boolean) => {
    sendFiles(client, conversation, files, { replyTo, thread, silent }).catch((e: unknown) => toast(why(e), { tone: "error" }))
    talk.done()
    talk.toEnd()
  }, [client, conversation, thread, talk])
  const voice = useVoice(useCallback((r: Recorded) => {
    send([{ ...r, name: t`voice`, kind: "voice", caption: "", preview: "", width: 0, height: 0 }], talk.getSnapshot().reply?.seq ?? 0, false)
  }, [send, talk, t]))

  useEffect(() => {
    talk.focus = () => area.current?.focus()
    if (matchMedia("(hover: hover)").matches) area.current?.focus()
  }, [talk])
  useEffect(() => {
    if (edit !== undefined) setEdited(edit.text)
  }, [edit])
  useGrowing(area, text)

  const content = useCallback((said: string) => {
    const mentions = completion.current?.mentions(said) ?? []
    const all = /(^|[^\p{L}\p{N}])@all(?![\p{L}\p{N}])/u.test(said)
    const here = /(^|[^\p{L}\p{N}])@here(?![\p{L}\p{N}])/u.test(said)
    const may = conversation.startsWith("grp:") && (isAdmin(group) || group.group?.whoMayMentionAll === "GROUP_POWER_ALL")
    const groupMention = may && all ? "GROUP_MENTION_ALL" as const : may && here ? "GROUP_MENTION_HERE" as const : undefined
    return { ...(mentions.length > 0 ? { mentions } : {}), ...(groupMention === undefined ? {} : { groupMention }) }
  }, [conversation, group])

  const acts = useMemo(() => ({ file: () => chooser.current?.click(), poll: () => setDialog("poll"), later: () => setDialog("scheduled") }), [])
  const say = async (silent = false, alsoInMain = false): Promise<void> => {
    const said = text.trim()
    if (said === "" || busy) return
    const late = completion.current === null && /@|^\//.test(said)
    if (late) {
      // It was not loaded yet: without it nobody would be mentioned, and a command would be sent.
      setBusy(true)
      for (let n = 0; n < 200 && completion.current === null; n++) await new Promise((done) => setTimeout(done, 50))
      setBusy(false)
      if (area.current?.value.trim() !== said) return // who writes on sends it with the next Enter
    }
    if ((late || offered !== undefined) && completion.current?.command(said) === true) return // the button does what Enter does
    if (edit !== undefined) return save(edit, said)
    if (slow > 0) return void toast(t`Slow mode: wait ${slow} s`)
    const replyTo = reply?.seq ?? 0
    const options = { ...content(said), ...(replyTo > 0 ? { replyTo } : {}), ...(thread > 0 ? { thread } : {}), ...(silent ? { silent: true } : {}), ...(alsoInMain ? { alsoInMain } : {}) }
    try {
      draft.clear() // in the same frame: the message stands in the timeline
      talk.done()
      talk.toEnd()
      await client.conversation(conversation).post(said, options)
    } catch (e) {
      draft.restore(said)
      toast(why(e), { tone: "error" })
    }
  }
  const save = async (m: Message, said: string): Promise<void> => {
    if (said === m.text) return talk.done()
    setBusy(true)
    area.current?.focus() // now, not with the answer: by then the user may be elsewhere
    try {
      await client.conversation(conversation).edit(m.seq, said, { ...content(said), extra: { ...m.extra } })
      if (talk.getSnapshot().edit === m) talk.done()
    } catch (e) {
      toast(why(e), { tone: "error" })
    }
    setBusy(false)
  }
  const sticker = ({ pack, name, alt }: PickedSticker): void => {
    const options = { type: "sticker", fallback: alt, ...(reply === undefined ? {} : { replyTo: reply.seq }), ...(thread > 0 ? { thread } : {}) }
    talk.done()
    talk.toEnd()
    client.conversation(conversation).post(JSON.stringify({ pack, name }), options).catch((e: unknown) => toast(why(e), { tone: "error" }))
  }
  const attach = (files: readonly File[]): void => {
    if (files.length === 0) return
    void import("./files.js").then(({ look }) => Promise.all(files.slice(0, 20).map(look))).then((all) => setAttached((old) => [...old, ...all]), (e: unknown) => toast(why(e), { tone: "error" }))
  }
  const editLast = (): boolean => {
    const m = talk.lastOwn()
    if (m === undefined) return false
    const w = { me: client.user, dm: true, admin: false, mayWrite: true, inThread: thread > 0, pinByAdmins: true, members: 0, nowMs: client.serverTimeMs(), editWindowMs: client.limits.editWindowMs ?? 0, recallWindowMs: 0 }
    if (!mayOf(m, w).edit) return false
    talk.edit(m)
    return true
  }
  const onKeyDown = (e: KeyboardEvent<HTMLTextAreaElement>): void => {
    if (e.nativeEvent.isComposing || e.keyCode === 229) return // the input method has it
    if (completion.current?.key(e) === true) return
    if (e.key === "Enter" && !e.shiftKey && !e.altKey && (enterSends.get() === "on" || e.ctrlKey || e.metaKey)) {
      e.preventDefault()
      void say()
    } else if (e.key === "ArrowUp" && text === "" && edit === undefined && !e.ctrlKey && !e.metaKey && editLast()) {
      e.preventDefault()
    } else if (e.key === "Escape" && (edit !== undefined || reply !== undefined)) {
      e.preventDefault()
      e.stopPropagation()
      talk.done()
    }
  }
  const onPaste = (e: ClipboardEvent): void => {
    const files = filesIn(e.clipboardData)
    if (files.length === 0) return
    e.preventDefault()
    attach(files)
  }
  const drop = {
    onDragOver: (e: DragEvent) => {
      if (!e.dataTransfer.types.includes("Files")) return
      e.preventDefault()
      setOver(true)
    },
    onDragLeave: (e: DragEvent) => { if (!e.currentTarget.contains(e.relatedTarget as Node | null)) setOver(false) },
    onDrop: (e: DragEvent) => {
      if (!e.dataTransfer.types.includes("Files")) return
      e.preventDefault()
      setOver(false)
      attach(filesIn(e.dataTransfer))
    },
  }
  useDropOnPage(attach, setOver, thread === 0)
  const later = useMemo<Later | undefined>(() => {
    const said = draft.text.trim()
    return said === "" ? undefined : { text: said, options: { ...(reply === undefined ? {} : { replyTo: reply.seq }), ...(thread === 0 ? {} : { thread }), ...content(said) } }
  }, [draft.text, reply, thread, content])
  const empty = text.trim() === ""

  return (
    <div className={cx(s.write, over && s.over)} {...drop}>
      {(edit ?? reply) !== undefined && <State reply={reply} edit={edit} onEnd={() => talk.done()} conversation={conversation} />}
      {completes && <Completion handle={completion} onOffered={setOffered} conversation={conversation} text={text} setText={setText} area={area} group={group} thread={thread} acts={edit === undefined ? acts : undefined} />}
      {voice.recording ? voice.bar : (
        <div className={s.line}>
          <AddMenu
            disabled={edit !== undefined} text={!empty} thread={thread > 0} onFiles={() => chooser.current?.click()} onPoll={() => setDialog("poll")} onLater={() => setDialog(empty ? "scheduled" : "later")}
            onSilent={() => void say(true)}
          />
          <textarea
            ref={area} className={s.area} rows={1} value={text} dir="auto" placeholder={slow > 0 ? t`Slow mode: ${slow} s` : thread > 0 ? t`Reply in thread` : t`Message`} aria-label={thread > 0 ? t`Reply in thread` : t`Message`} enterKeyHint="send"
            aria-expanded={offered !== undefined ? true : undefined} aria-controls={offered?.listId} aria-activedescendant={offered?.activeId} role={offered !== undefined ? "combobox" : undefined} aria-autocomplete="list"
            onChange={(e) => {
              setText(e.currentTarget.value)
              if (edit === undefined && thread === 0 && e.currentTarget.value !== "") typing()
              completion.current?.look()
            }}
            onSelect={() => completion.current?.look()} onKeyDown={onKeyDown} onPaste={onPaste} onBlur={() => completion.current?.close()}
          />
          <EmojiButton onPick={(c) => insert(area, text, setText, c)} onSticker={edit === undefined ? sticker : undefined} />
          {empty && edit === undefined && canRecord() ? <MicButton voice={voice} disabled={slow > 0} /> : (
            <ContextMenu menu={edit === undefined && <><MenuItem onClick={() => void say(true)}>{t`Send silently`}</MenuItem><MenuItem onClick={() => setDialog("later")}>{t`Send later`}</MenuItem>{thread > 0 && <MenuItem onClick={() => void say(false, true)}>{t`Send to the conversation as well`}</MenuItem>}</>}>
              <IconButton label={edit === undefined ? t`Send` : t`Save`} look="primary" disabled={empty || busy || slow > 0} onPointerDown={(e) => e.preventDefault()} onClick={() => void say()}>
                {busy ? <Spinner small /> : edit !== undefined ? <Check /> : slow > 0 ? <span className={s.slow}>{slow}</span> : <SendHorizontal />}
              </IconButton>
            </ContextMenu>
          )}
        </div>
      )}
      <input ref={chooser} type="file" multiple hidden data-attach="" onChange={(e) => { attach([...(e.currentTarget.files ?? [])]); e.currentTarget.value = "" }} />
      {attached.length > 0 && (
        <AttachDialog
          chosen={attached} most={client.limits.mediaBytes ?? 0} onClose={() => { for (const r of attached) if (r.preview !== "") URL.revokeObjectURL(r.preview); setAttached([]) }}
          onSend={(all, silent) => {
            send(all, reply?.seq ?? 0, silent)
            setAttached([])
            area.current?.focus()
          }}
        />
      )}
      {dialog === "poll" && <PollDialog conversation={conversation} onClose={() => setDialog(undefined)} />}
      {(dialog === "later" || dialog === "scheduled") && (
        <ScheduleDialog conversation={conversation} message={dialog === "later" ? later : undefined} onClose={() => setDialog(undefined)} onDone={() => { setDialog(undefined); draft.clear(); talk.done() }} />
      )}
    </div>
  )
}

/** The field is as high as its text, up to what its style allows. */
function useGrowing(area: RefObject<HTMLTextAreaElement | null>, text: string): void {
  useEffect(() => {
    const e = area.current
    if (e === null) return
    e.style.blockSize = "auto"
    e.style.blockSize = `${e.scrollHeight}px`
  }, [area, text])
}

/** What is dropped beside the field, on the messages, is meant for it, too: for that of the conversation, where a thread is open as well. */
function useDropOnPage(attach: (files: File[]) => void, setOver: (on: boolean) => void, on: boolean): void {
  const latest = useRef(attach)
  latest.current = attach
  useEffect(() => {
    if (!on) return undefined
    const hasFiles = (e: globalThis.DragEvent): boolean => e.dataTransfer?.types.includes("Files") === true
    const onOver = (e: globalThis.DragEvent): void => {
      if (!hasFiles(e)) return
      e.preventDefault()
      setOver(true)
    }
    const onDrop = (e: globalThis.DragEvent): void => {
      if (!hasFiles(e) || e.defaultPrevented) return
      e.preventDefault()
      setOver(false)
      latest.current(filesIn(e.dataTransfer))
    }
    const onLeave = (e: globalThis.DragEvent): void => { if (e.relatedTarget === null) setOver(false) }
    document.addEventListener("dragover", onOver)
    document.addEventListener("drop", onDrop)
    document.addEventListener("dragleave", onLeave)
    return () => {
      document.removeEventListener("dragover", onOver)
      document.removeEventListener("drop", onDrop)
      document.removeEventListener("dragleave", onLeave)
    }
  }, [setOver, on])
}

/** The files of a paste or a drop. */
function filesIn(data: DataTransfer | null): File[] {
  return data === null ? [] : [...data.files]
}

function insert(area: RefObject<HTMLTextAreaElement | null>, text: string, setText: (now: string) => void, what: string): void {
  const e = area.current
  const from = e?.selectionStart ?? text.length
  setText(text.slice(0, from) + what + text.slice(e?.selectionEnd ?? from))
  requestAnimationFrame(() => {
    e?.focus()
    e?.setSelectionRange(from + what.length, from + what.length)
  })
}
