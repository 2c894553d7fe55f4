import { SkeinError } from "@skein-im/client"
import { Bell, Inbox, MessagesSquare, Pencil, Plus, Search, Trash2 } from "lucide-react"
import { useState, type ReactNode } from "react"
import { density, theme } from "../theme.js"
import {
  Avatar, Badge, Button, Checkbox, Choice, Confirm, ContextMenu, Dialog, Dot, Empty, ErrorNote, Field, IconButton, Loading, Menu, MenuCheck, MenuItem, MenuLine, MenuTile, Note, Popover, Select,
  Skeleton, Spinner, SubMenu, Switch, Tabs, Tag, TextArea, toast, Tooltip,
} from "../ui/index.js"
import s from "./Gallery.module.css"

/*
 * Every component in every state, for those who work on them. It is in English only: its words are samples, and no
 * part of the catalogue.
 */

const long = "A label that somebody made much longer than anybody had thought of when this was drawn"
const chinese = "设置通知与隐私"
const arabic = "إعدادات الإشعارات"

export function Gallery() {
  const [rtl, setRtl] = useState(false)
  const [large, setLarge] = useState(false)
  return (
    <div className={s.page} dir={rtl ? "rtl" : "ltr"} style={large ? { zoom: 2 } : undefined}>
      <header className={s.head}>
        <h1>Components</h1>
        <div className={s.row}>
          <Button onClick={() => theme.set("light")}>Light</Button>
          <Button onClick={() => theme.set("dark")}>Dark</Button>
          <Button onClick={() => density.set(density.get() === "cosy" ? "compact" : "cosy")}>Density</Button>
          <Switch label="Right to left" checked={rtl} onChange={setRtl} />
          <Switch label="200 %" checked={large} onChange={setLarge} />
        </div>
      </header>
      <Colours />
      <Types />
      <Buttons />
      <People />
      <Texts />
      <Controls />
      <Above />
      <Notes />
    </div>
  )
}

function Part({ name, children }: { name: string; children: ReactNode }) {
  return (
    <section className={s.part} aria-label={name}>
      <h2 className={s.name}>{name}</h2>
      <div className={s.row}>{children}</div>
    </section>
  )
}

const roles = ["ground", "surface", "surface-raised", "surface-sunken", "selected", "text", "text-quiet", "text-faint", "accent", "accent-soft", "accent-text", "link", "own-bubble", "other-bubble", "danger", "danger-soft", "success", "success-soft", "warning", "warning-soft", "online", "focus"]

function Colours() {
  return <Part name="Colours">{roles.map((r) => <span key={r} className={s.colour}><span className={s.swatch} style={{ background: `var(--${r})` }} />{r}</span>)}</Part>
}

function Types() {
  return (
    <Part name="Type">
      <div className={s.types}>{["xxl", "xl", "l", "m", "s", "xs"].map((n) => <p key={n} style={{ fontSize: `var(--text-${n})` }}>Geese fly in a skein · 雁阵惊寒 · {n}</p>)}</div>
    </Part>
  )
}

function Buttons() {
  return (
    <>
      {(["primary", "plain", "quiet", "danger"] as const).map((look) => (
        <Part key={look} name={`Button, ${look}`}>
          <Button look={look}>Rest</Button>
          <Button look={look} icon={<Plus />}>With a sign</Button>
          <Button look={look} busy>Under way</Button>
          <Button look={look} disabled>Disabled</Button>
          <Button look={look}>{chinese}</Button>
          <div className={s.narrow}><Button look={look} wide>{long}</Button></div>
        </Part>
      ))}
      <Part name="IconButton">
        <IconButton label="Edit" keys="E"><Pencil /></IconButton>
        <IconButton label="Notifications" on><Bell /></IconButton>
        <IconButton label="Delete" look="danger"><Trash2 /></IconButton>
        <IconButton label="Send" look="primary"><Plus /></IconButton>
        <IconButton label="Small" small><Search /></IconButton>
        <IconButton label="Disabled" disabled><Pencil /></IconButton>
        <Tooltip text="A tooltip by itself"><button type="button">Point here</button></Tooltip>
      </Part>
    </>
  )
}

function People() {
  return (
    <>
      <Part name="Avatar">
        {(["xs", "s", "m", "l", "xl"] as const).map((size) => <Avatar key={size} id={size} name="Ann Liu" size={size} online={size === "m"} />)}
        <Avatar id="w" name="王小明" />
        <Avatar id="one" name="Plato" />
        <Avatar id="emoji" name="👩‍🚀 Neil" />
        <Avatar id="none" name="" />
        <Avatar id="group" name="Hiking on Sunday" group />
        {Array.from({ length: 24 }, (_, i) => <Avatar key={i} id={`user ${i}`} name={String.fromCharCode(65 + i)} size="s" />)}
      </Part>
      <Part name="Badge, Dot, Tag">
        <Badge count={1} label="1 unread" /><Badge count={42} label="42 unread" /><Badge count={1200} label="1,200 unread" /><Badge count={7} quiet label="7 unread, muted" /><Dot label="Marked as unread" />
        <Tag>guest</Tag><Tag tone="accent">admin</Tag><Tag tone="danger">banned</Tag><Tag tone="success">verified</Tag><Tag tone="warning">ends soon</Tag>
      </Part>
    </>
  )
}

function Texts() {
  const [text, setText] = useState("Ann Liu")
  return (
    <Part name="Field, TextArea">
      <div className={s.narrow}><Field label="Empty" placeholder="A placeholder" /></div>
      <div className={s.narrow}><Field label="Filled" value={text} onChange={(e) => setText(e.currentTarget.value)} hint="A hint about what belongs here." /></div>
      <div className={s.narrow}><Field label="Wrong" defaultValue="ann" error="This user name is taken." /></div>
      <div className={s.narrow}><Field label="Disabled" defaultValue="ann" disabled /></div>
      <div className={s.narrow}><Field label="With signs" bare before={<Search />} placeholder="Search" /></div>
      <div className={s.narrow}><Field label={long} defaultValue={arabic} dir="auto" /></div>
      <div className={s.narrow}><TextArea label="Several lines" defaultValue={`${long}. ${long}.`} /></div>
    </Part>
  )
}

function Controls() {
  const [on, setOn] = useState(true)
  const [choice, setChoice] = useState<"all" | "mentions" | "none">("mentions")
  const [tab, setTab] = useState<"media" | "files" | "links">("media")
  const options = [{ value: "all" as const, label: "All messages" }, { value: "mentions" as const, label: "Mentions", about: "And answers to what you wrote" }, { value: "none" as const, label: "Nothing" }]
  return (
    <>
      <Part name="Switch, Checkbox">
        <div className={s.narrow}>
          <Switch label="Notifications" about="On this device" checked={on} onChange={setOn} />
          <Switch label={long} checked={!on} onChange={(v) => setOn(!v)} />
          <Switch label="Disabled" checked disabled onChange={() => undefined} />
          <Checkbox label="Ann Liu" about="@ann" checked={on} onChange={setOn} />
          <Checkbox label="Disabled" checked={false} disabled onChange={() => undefined} />
        </div>
      </Part>
      <Part name="Choice, Select, Tabs">
        <div className={s.narrow}><Choice label="Notify me of" value={choice} options={options} onChange={setChoice} /></div>
        <div className={s.narrow}><Select label="Notify me of" value={choice} options={options} onChange={setChoice} /></div>
        <div className={s.narrow}><Tabs label="Kinds" value={tab} onChange={setTab} tabs={[{ value: "media", label: "Media", content: "Pictures and videos" }, { value: "files", label: "Files", content: "Files" }, { value: "links", label: "Links", content: "Links" }]} /></div>
      </Part>
    </>
  )
}

function Above() {
  const [open, setOpen] = useState<"" | "dialog" | "confirm" | "danger">("")
  const [check, setCheck] = useState(true)
  const close = (): void => setOpen("")
  const items = (
    <>
      <MenuItem icon={<Pencil />} keys="E">Edit</MenuItem>
      <MenuCheck checked={check} onChange={setCheck}>Pinned</MenuCheck>
      <SubMenu icon={<Bell />} label="Mute"><MenuItem>For an hour</MenuItem><MenuItem>For a week</MenuItem></SubMenu>
      <MenuItem disabled>Disabled</MenuItem>
      <MenuTile label="React with a thumb" onClick={() => undefined}>👍</MenuTile>
      <MenuLine />
      <MenuItem icon={<Trash2 />} danger>Delete</MenuItem>
    </>
  )
  return (
    <Part name="What opens above">
      <Menu trigger={<Button>Menu</Button>}>{items}</Menu>
      <ContextMenu menu={items}><span className={s.target}>Second button here</span></ContextMenu>
      <Popover trigger={<Button>Popover</Button>} label="A popover"><div className={s.pad}>Something small.</div></Popover>
      <Button onClick={() => setOpen("dialog")}>Dialog</Button>
      <Button onClick={() => setOpen("confirm")}>Confirm</Button>
      <Button onClick={() => setOpen("danger")}>Confirm, refused</Button>
      <Button onClick={() => toast("Copied")}>Toast</Button>
      <Button onClick={() => toast("Hidden until there is a new message", { action: { label: "Undo", run: () => undefined } })}>Toast, undo</Button>
      <Button onClick={() => toast("No connection.", { tone: "error" })}>Toast, error</Button>
      <Dialog open={open === "dialog"} onClose={close} title="Rename the group" about="Everybody in it sees the name." actions={<><Button onClick={close}>Cancel</Button><Button look="primary" onClick={close}>Rename</Button></>}>
        <Field label="Name" defaultValue="Hiking on Sunday" />
      </Dialog>
      <Confirm open={open === "confirm"} onClose={close} title="Leave the group?" action="Leave" onConfirm={() => undefined}>You see nothing of what is said from then on.</Confirm>
      <Confirm open={open === "danger"} onClose={close} title="Delete the account?" danger action="Delete" onConfirm={() => Promise.reject(new SkeinError({ code: "offline" }))}>This cannot be undone.</Confirm>
    </Part>
  )
}

function Notes() {
  return (
    <>
      <Part name="Notes">
        <div className={s.narrow}><Note>Something worth knowing.</Note></div>
        <div className={s.narrow}><Note tone="warning">The link ends in an hour.</Note></div>
        <div className={s.narrow}><Note tone="success">Saved.</Note></div>
        <div className={s.narrow}><ErrorNote error={new SkeinError({ code: "offline" })} onRetry={() => undefined} /></div>
        <div className={s.narrow}><ErrorNote error={new SkeinError({ code: "permission_denied" })} /></div>
      </Part>
      <Part name="Loading, empty">
        <Spinner /><Spinner small />
        <div className={s.narrow}><Skeleton lines={3} /></div><Skeleton round />
        <div className={s.box}><Loading /></div>
        <div className={s.box}><Empty icon={<Inbox />} title="All caught up" /></div>
        <div className={s.box}><Empty icon={<MessagesSquare />} title="No conversations yet" action={<Button look="primary">Find people</Button>}>Your chats and groups appear here.</Empty></div>
      </Part>
    </>
  )
}
