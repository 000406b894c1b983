import { Button } from '@mantine/core'
import { ArrowDownIcon } from '@radix-ui/react-icons'
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from 'react'
import classes from './message-scroll.module.css'

type MessageScrollProps = {
  label: string
  /** Changes when messages are prepended. The scroll position then stays at the same message. */
  firstKey: string | undefined
  /** Changes when the user sends a message. Each change scrolls the list to its end. */
  sentKey: string | undefined
  children: ReactNode
}

const endPx = 48

/**
 * Scroll container that follows new content while the user is at the end. Otherwise it keeps the visible content in
 * place.
 */
export function MessageScroll({ children, firstKey, label, sentKey }: MessageScrollProps) {
  const outer = useRef<HTMLDivElement>(null)
  const inner = useRef<HTMLDivElement>(null)
  const isFollowing = useRef(true)
  const lastTop = useRef(0)
  const fromEnd = useRef(0)
  const [isAway, setAway] = useState(false)

  const toEnd = () => {
    const box = outer.current
    if (!box) return
    isFollowing.current = true
    box.scrollTop = box.scrollHeight
    setAway(false)
  }

  useEffect(() => {
    const box = outer.current
    if (!box || !inner.current) return undefined
    const observer = new ResizeObserver(() => {
      if (isFollowing.current) box.scrollTop = box.scrollHeight
      fromEnd.current = box.scrollHeight - box.scrollTop
      setAway(!isFollowing.current && distanceOf(box) > endPx)
    })
    observer.observe(inner.current)
    observer.observe(box)
    return () => observer.disconnect()
  }, [])

  useLayoutEffect(() => {
    const box = outer.current
    if (box && !isFollowing.current) box.scrollTop = box.scrollHeight - fromEnd.current
  }, [firstKey])

  useEffect(() => {
    if (sentKey !== undefined) toEnd()
  }, [sentKey])

  const onScroll = () => {
    const box = outer.current
    if (!box) return
    const distance = distanceOf(box)
    // A smaller `scrollTop` means that the user has scrolled up. A growing reply moves the end, but not `scrollTop`.
    if (distance <= endPx) isFollowing.current = true
    else if (box.scrollTop < lastTop.current) isFollowing.current = false
    lastTop.current = box.scrollTop
    fromEnd.current = box.scrollHeight - box.scrollTop
    setAway(!isFollowing.current && distance > endPx)
  }

  return (
    <div className={classes.frame}>
      <div ref={outer} className={classes.outer} onScroll={onScroll} tabIndex={0} role="region" aria-label={label}>
        <div ref={inner} className={classes.inner}>
          {children}
        </div>
      </div>
      {isAway && (
        <Button
          className={classes.jump}
          size="xs"
          variant="default"
          radius="xl"
          leftSection={<ArrowDownIcon aria-hidden />}
          onClick={() => {
            toEnd()
            outer.current?.focus({ preventScroll: true })
          }}
        >
          Jump to latest
        </Button>
      )}
    </div>
  )
}

function distanceOf({ clientHeight, scrollHeight, scrollTop }: HTMLElement): number {
  return scrollHeight - clientHeight - scrollTop
}
