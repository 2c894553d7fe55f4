/** How a picture is cut to a square: what part of it is seen, by its middle, and how near it is. */
export interface View {
  /** The middle of the square, as parts of the picture's width and height. */
  x: number
  y: number
  /** 1: as much as fits into a square. */
  zoom: number
}

export interface Size {
  width: number
  height: number
}

export const mostZoom = 5
export const centred: View = { x: 0.5, y: 0.5, zoom: 1 }

/** The square of the picture that is seen, in its pixels. */
export function squareOf(of: Size, v: View): { left: number; top: number; side: number } {
  const side = Math.min(of.width, of.height) / v.zoom
  return { left: v.x * of.width - side / 2, top: v.y * of.height - side / 2, side }
}

/** The nearest view whose square is within the picture. */
export function within(of: Size, v: View): View {
  const zoom = Math.min(mostZoom, Math.max(1, v.zoom))
  const side = Math.min(of.width, of.height) / zoom
  const held = (at: number, length: number): number => {
    const edge = side / 2 / length
    return Math.min(1 - edge, Math.max(edge, at))
  }
  return { zoom, x: held(v.x, of.width), y: held(v.y, of.height) }
}

/** The view after the picture was moved by so much of the square's side. */
export function moved(of: Size, v: View, dx: number, dy: number): View {
  const { side } = squareOf(of, v)
  return within(of, { ...v, x: v.x - (dx * side) / of.width, y: v.y - (dy * side) / of.height })
}

/** How large the result is: as many pixels as are seen, but no more than a face needs. */
export function resultSide(of: Size, v: View, most = 640): number {
  return Math.max(1, Math.min(most, Math.round(squareOf(of, v).side)))
}
