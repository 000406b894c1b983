import { Box, Collapse, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { ChevronDownIcon, ChevronRightIcon } from '@radix-ui/react-icons'
import { useId, type ReactNode } from 'react'
import classes from './disclosure.module.css'

type DisclosureProps = {
  label: string
  /** Tells those of the same label apart. */
  ariaLabel?: string
  /** Not made before it is asked for. */
  children: () => ReactNode
  /** Whether it stays unfolded, as with a mistake in it. */
  mustBeOpen?: boolean
}

/** What few need, folded away until somebody asks. */
export function Disclosure({ label, ariaLabel, children, mustBeOpen = false }: DisclosureProps) {
  const [isUnfolded, { toggle }] = useDisclosure()
  const isOpen = isUnfolded || mustBeOpen
  const id = useId()
  const Icon = isOpen ? ChevronDownIcon : ChevronRightIcon
  return (
    <Box>
      <UnstyledButton
        className={classes.disclosure}
        aria-expanded={isOpen}
        aria-controls={id}
        aria-label={ariaLabel}
        onClick={toggle}
      >
        <Icon aria-hidden />
        {label}
      </UnstyledButton>
      <Collapse in={isOpen} id={id} mt="xs">
        {isOpen && children()}
      </Collapse>
    </Box>
  )
}
