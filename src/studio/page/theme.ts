// Light or dark: as the system has it, until the user chooses.

const KEY = 'spillway-studio-theme'
type Theme = 'light' | 'dark'

export function startTheme(button: HTMLButtonElement, changed: () => void): void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  let chosen = asTheme(localStorage.getItem(KEY))
  const show = (): void => {
    const dark = (chosen ?? (system.matches ? 'dark' : 'light')) === 'dark'
    if (chosen) document.documentElement.dataset['theme'] = chosen
    button.textContent = dark ? 'Light' : 'Dark'
    button.setAttribute('aria-label', dark ? 'Use light colours' : 'Use dark colours')
  }
  button.addEventListener('click', () => {
    chosen = (chosen ?? (system.matches ? 'dark' : 'light')) === 'dark' ? 'light' : 'dark'
    localStorage.setItem(KEY, chosen)
    show()
    changed()
  })
  system.addEventListener('change', () => {
    show()
    changed()
  })
  show()
}

function asTheme(text: string | null): Theme | undefined {
  return text === 'light' || text === 'dark' ? text : undefined
}
