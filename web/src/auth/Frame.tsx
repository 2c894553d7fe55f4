import type { ReactNode } from "react"
import { Brand } from "../ui/Brand.js"
import s from "./Frame.module.css"

/** The page around what is seen before somebody is logged in. */
export function Frame({ title, about, children, below }: { title: string; about?: ReactNode; children?: ReactNode; below?: ReactNode }) {
  return (
    <main className={s.page}>
      <div className={s.sky} aria-hidden="true"><Brand className={s.flock} /></div>
      <section className={s.card}>
        <p className={s.brand}><Brand /> Skein</p>
        <h1 className={s.title}>{title}</h1>
        {about !== undefined && <p className={s.about}>{about}</p>}
        {children}
        {below !== undefined && <p className={s.below}>{below}</p>}
      </section>
    </main>
  )
}
