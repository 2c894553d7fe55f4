import { Qr } from "../groups/Qr.js"
import s from "./Settings.module.css"

/** A text as a QR code on a light plate. What it says stands beside it for who has no camera; `label` says what it is, for a screen reader. */
export function QrCode({ text, label }: { text: string; label: string }) {
  return <div className={s.qr}><div className={s.qrPlate}><Qr text={text} label={label} /></div></div>
}
