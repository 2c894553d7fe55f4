import { waveformOf } from "../timeline/wave.js"

/** A voice as it was recorded. */
export interface Recorded {
  blob: Blob
  durationMs: number
  waveform: Uint8Array
}

export interface Recorder {
  /** The loudness of 0 to 1, since the beginning, one each tick. */
  levels: readonly number[]
  startedAt: number
  /** Ends it; resolves with what was said. */
  stop: () => Promise<Recorded>
  /** Throws it away. */
  cancel: () => void
}

const tickMs = 60
const types = ["audio/webm;codecs=opus", "audio/ogg;codecs=opus", "audio/mp4"]

/** Begins to record; asks for the microphone. `heard` is called with each tick. */
export async function record(heard: () => void): Promise<Recorder> {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true, noiseSuppression: true } })
  const mimeType = types.find((t) => MediaRecorder.isTypeSupported(t))
  const recorder = new MediaRecorder(stream, { audioBitsPerSecond: 32_000, ...(mimeType === undefined ? {} : { mimeType }) })
  const context = new AudioContext()
  const analyser = context.createAnalyser()
  analyser.fftSize = 512
  context.createMediaStreamSource(stream).connect(analyser)
  const samples = new Float32Array(analyser.fftSize)
  const levels: number[] = []
  const parts: Blob[] = []
  recorder.ondataavailable = (e) => {
    if (e.data.size > 0) parts.push(e.data)
  }
  const startedAt = performance.now()
  recorder.start(500)
  const timer = setInterval(() => {
    analyser.getFloatTimeDomainData(samples)
    levels.push(Math.min(1, Math.sqrt(samples.reduce((n, v) => n + v * v, 0) / samples.length) * 4))
    heard()
  }, tickMs)
  const end = (): void => {
    clearInterval(timer)
    for (const track of stream.getTracks()) track.stop()
    void context.close()
  }
  return {
    levels, startedAt,
    stop: () => new Promise((done) => {
      const durationMs = performance.now() - startedAt
      recorder.onstop = () => {
        end()
        done({ blob: new Blob(parts, { type: (recorder.mimeType || "audio/webm").split(";")[0]! }), durationMs, waveform: waveformOf(levels) })
      }
      recorder.stop()
    }),
    cancel: () => {
      recorder.onstop = null
      if (recorder.state !== "inactive") recorder.stop()
      end()
    },
  }
}
