import type { Ready } from "./outgoing.js"

/** How long a browser may take to look at a file before it is sent as a file. */
const lookMs = 5000

/** A chosen file with what the browser sees in it: a picture and a video have a size. */
export async function look(file: File): Promise<Ready> {
  const name = file.name === "" ? `file-${Date.now()}` : file.name
  const plain: Ready = { blob: file, name, kind: "file", caption: "", preview: "", width: 0, height: 0, durationMs: 0, waveform: undefined }
  const kind = /^image\/(png|jpeg|gif|webp)$/.test(file.type) ? "image" : /^video\/(mp4|webm|quicktime)$/.test(file.type) ? "video" : "file"
  if (kind === "file") return plain
  const preview = URL.createObjectURL(file)
  try {
    const seen = kind === "image" ? await picture(preview) : await video(preview)
    return { ...plain, ...seen, kind, preview }
  } catch {
    URL.revokeObjectURL(preview)
    return plain
  }
}

function within<T>(p: Promise<T>): Promise<T> {
  return Promise.race([p, new Promise<T>((_, reject) => setTimeout(() => reject(new Error("it takes too long")), lookMs))])
}

async function picture(url: string): Promise<Pick<Ready, "width" | "height">> {
  const img = new Image()
  img.src = url
  await within(img.decode())
  return { width: img.naturalWidth, height: img.naturalHeight }
}

async function video(url: string): Promise<Pick<Ready, "width" | "height" | "durationMs">> {
  const v = document.createElement("video")
  v.preload = "metadata"
  v.muted = true
  await within(new Promise<void>((done, fail) => {
    v.onloadedmetadata = () => done()
    v.onerror = () => fail(new Error("no video"))
    v.src = url
  }))
  const durationMs = Number.isFinite(v.duration) ? v.duration * 1000 : 0
  return { width: v.videoWidth, height: v.videoHeight, durationMs }
}
