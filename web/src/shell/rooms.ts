import { lazy } from "react"

// The rooms of the app, each loaded when it is first entered.

export const Shell = lazy(() => import("./Shell.js").then((m) => ({ default: m.Shell })))
export const Login = lazy(() => import("../auth/Login.js").then((m) => ({ default: m.Login })))
export const Reset = lazy(() => import("../auth/Reset.js").then((m) => ({ default: m.Reset })))
export const Register = lazy(() => import("../auth/Register.js").then((m) => ({ default: m.Register })))

export const Switcher = lazy(() => import("./Switcher.js").then((m) => ({ default: m.Switcher })))
export const Keys = lazy(() => import("./Keys.js").then((m) => ({ default: m.Keys })))

export const Timeline = lazy(() => import("../timeline/Timeline.js").then((m) => ({ default: m.Timeline })))
export const Thread = lazy(() => import("../timeline/Thread.js").then((m) => ({ default: m.Thread })))
export const Composer = lazy(() => import("../composer/Composer.js").then((m) => ({ default: m.Composer })))
export const PeoplePage = lazy(() => import("../people/PeoplePage.js").then((m) => ({ default: m.PeoplePage })))
export const NewGroup = lazy(() => import("../groups/NewGroup.js").then((m) => ({ default: m.NewGroup })))
export const Details = lazy(() => import("../groups/Details.js").then((m) => ({ default: m.Details })))
export const JoinPage = lazy(() => import("../groups/JoinPage.js").then((m) => ({ default: m.JoinPage })))
export const SettingsPage = lazy(() => import("../settings/SettingsPage.js").then((m) => ({ default: m.SettingsPage })))
export const SearchPage = lazy(() => import("../search/SearchPage.js").then((m) => ({ default: m.SearchPage })))
export const Console = lazy(() => import("../admin/Console.js").then((m) => ({ default: m.Console })))
export const Welcome = lazy(() => import("../admin/Welcome.js").then((m) => ({ default: m.Welcome })))
export const UiGallery = lazy(() => import("../dev/Gallery.js").then((m) => ({ default: m.Gallery })))
