import "./sw.js"

// What arrives by push, where the app has it.
import.meta.glob("./push.ts", { eager: true })
