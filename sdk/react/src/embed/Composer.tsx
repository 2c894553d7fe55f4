import { useEffect, useLayoutEffect, useRef, useState, type ClipboardEvent, type DragEvent, type KeyboardEvent, type ReactElement } from "react"
import { errorFrom } from "../action.js"
import type { Message } from "@skein-im/client"
import { useTyping } from "../typing.js"
import { useUpload, type UploadControl, type UploadItem } from "../upload.js"
import { socketOf } from "./access.js"
import { Icon } from "./Icon.js"
import { Quote } from "./Quote.js"
import { useScene, why } from "./scene.js"

/** Where one writes: Enter sends, Shift+Enter is a new line; files by the button, by paste, by drop. What is sent first answers the message that is `answered`. */
export function Composer({ answered }: { answered: Message | undefined }): ReactElement {
  const { client, server, access, conversation, t, name, find, answer, note } = useScene()
  const { typing } = useTyping(conversation)
  const uploads = useUpload({ url: socketOf(server), getToken: access.get })
  const [text, setText] = useState("")
  const [over, setOver] = useState(false)
  const area = useRef<HTMLTextAreaElement>(null)
  const chooser = useRef<HTMLInputElement>(null)
  useGrowing(area, text)
  useLayoutEffect(() => {
    if (answered !== undefined) area.current?.focus() // before the next key
  }, [answered])

  const chosen = useRef(answered)
  chosen.current = answered
  /** What an upload answers, by its key: also when it is tried again. */
  const answers = useRef(new Map<number, Answers>())
  /** Once: what is sent after it answers nothing. */
  const reply = (): Answers => {
    answer(undefined)
    return answered === undefined ? {} : { replyTo: answered.seq }
  }
  const send = (): void => {
    const said = text.trim()
    if (said === "") return
    setText("") // in the same frame: the message stands in the timeline
    client.conversation(conversation).post(said, reply()).catch((e: unknown) => {
      setText((now) => (now === "" ? said : now))
      if (chosen.current === undefined) answer(answered)
      note(why(t, errorFrom(e)))
    })
    area.current?.focus()
  }
  const attach = (files: Iterable<File>, to = reply()): void => {
    for (const [i, f] of [...files].slice(0, 10).entries()) {
      const first = i === 0 ? to : {}
      const post: Post = (body, type, id, fallback) => client.conversation(conversation).post(body, { type, media: [id], fallback, ...first })
      void sendFile(f, uploads, post, (key) => answers.current.set(key, first)).catch((e: unknown) => note(why(t, errorFrom(e))))
    }
  }
  const again = (u: UploadItem): void => {
    uploads.remove(u.key)
    attach([new File([u.blob], u.name, { type: u.blob.type })], answers.current.get(u.key) ?? {})
  }
  const onKeyDown = (e: KeyboardEvent): void => {
    if (e.nativeEvent.isComposing || e.keyCode === 229) return // the input method has it
    if (e.key === "Escape" && answered !== undefined) {
      e.stopPropagation()
      answer(undefined)
    }
    if (e.key !== "Enter" || e.shiftKey || e.altKey) return
    e.preventDefault()
    send()
  }
  const onPaste = (e: ClipboardEvent): void => {
    if (e.clipboardData.files.length === 0) return
    e.preventDefault()
    attach(e.clipboardData.files)
  }
  const drop = {
    onDragOver: (e: DragEvent) => {
      if (!e.dataTransfer.types.includes("Files")) return
      e.preventDefault()
      setOver(true)
    },
    onDragLeave: () => setOver(false),
    onDrop: (e: DragEvent) => {
      e.preventDefault()
      setOver(false)
      attach(e.dataTransfer.files)
    },
  }
  return (
    <div className={over ? "composer over" : "composer"} {...drop}>
      {answered !== undefined && (
        <div className="answered" role="group" aria-label={t.replyTo(answered.own ? t.you : name(answered.sender))}>
          <Quote of={find(answered.seq) ?? answered} />
          <button type="button" className="icon" aria-label={t.noReply} title={t.noReply} onClick={() => { answer(undefined); area.current?.focus() }}><Icon name="close" /></button>
        </div>
      )}
      {uploads.uploads.length > 0 && <ul className="tray">{uploads.uploads.map((u) => <Upload key={u.key} item={u} remove={() => uploads.remove(u.key)} again={() => again(u)} />)}</ul>}
      <form className="line" onSubmit={(e) => { e.preventDefault(); send() }}>
        <button type="button" className="icon" aria-label={t.attach} title={t.attach} onClick={() => chooser.current?.click()}><Icon name="attach" /></button>
        <input ref={chooser} type="file" multiple className="hidden" tabIndex={-1} aria-hidden="true" onChange={(e) => { attach(e.currentTarget.files ?? []); e.currentTarget.value = "" }} />
        <textarea
          ref={area} rows={1} value={text} dir="auto" placeholder={over ? t.drop : t.write} aria-label={t.write} enterKeyHint="send"
          onInput={(e) => { setText(e.currentTarget.value); typing() }} onKeyDown={onKeyDown} onPaste={onPaste}
        />
        <button type="submit" className="icon primary" aria-label={t.send} title={t.send} disabled={text.trim() === ""}><Icon name="send" /></button>
      </form>
    </div>
  )
}

type Answers = { replyTo?: number }
type Post = (body: string, type: "image" | "file", id: string, fallback: string) => Promise<unknown>

/** Uploads a file, then says it. An upload that fails stays in the tray, and is tried again from there. */
async function sendFile(file: File, uploads: UploadControl, post: Post, begun: (key: number) => void): Promise<void> {
  const { width, height } = await look(file)
  const { key, done } = uploads.add(file, width > 0 ? { name: file.name, width, height } : { name: file.name })
  begun(key)
  const id = await done.catch(() => "")
  if (id === "") return
  const base = { media: id, mime: file.type || "application/octet-stream", bytes: file.size }
  try {
    if (width > 0) await post(JSON.stringify({ ...base, width, height }), "image", id, "[picture]")
    else await post(JSON.stringify({ ...base, name: file.name }), "file", id, `[file] ${file.name}`)
  } finally {
    uploads.remove(key)
  }
}

/** The size of a picture; 0 of what is none that browsers show. */
async function look(file: File): Promise<{ width: number; height: number }> {
  if (!/^image\/(png|jpeg|gif|webp)$/.test(file.type)) return { width: 0, height: 0 }
  try {
    const b = await createImageBitmap(file)
    const size = { width: b.width, height: b.height }
    b.close()
    return size
  } catch {
    return { width: 0, height: 0 }
  }
}

function Upload({ item: u, remove, again }: { item: UploadItem; remove: () => void; again: () => void }): ReactElement {
  const { t } = useScene()
  const percent = Math.floor((u.sent / Math.max(1, u.size)) * 100)
  return (
    <li className="upload">
      <span className="sign"><Icon name="file" /></span>
      <span className="grow">
        <bdi className="filename">{u.name || t.file}</bdi>
        {u.state === "failed" ? <span className="error">{t.notUploaded}{u.error !== undefined && `: ${why(t, u.error)}`}</span> : <progress value={percent} max={100} aria-label={`${t.uploading} ${u.name}`} />}
      </span>
      {u.state === "failed" && <button type="button" className="link" onClick={again}>{t.again}</button>}
      <button type="button" className="icon" aria-label={`${t.cancel}: ${u.name}`} onClick={remove}><Icon name="close" /></button>
    </li>
  )
}

/** As high as what is written, up to what the style allows. */
function useGrowing(area: { current: HTMLTextAreaElement | null }, text: string): void {
  useEffect(() => {
    const e = area.current
    if (e === null) return
    e.style.height = "auto"
    e.style.height = `${e.scrollHeight}px`
  }, [area, text])
}
