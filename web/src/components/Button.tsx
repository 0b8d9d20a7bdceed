import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import { Link, type LinkProps } from "react-router";

import styles from "./Button.module.css";
import { Icon, type IconName } from "./Icon";

interface Look {
  /** One primary button at most in a view. `danger` is for what cannot be undone. */
  kind?: "primary" | "danger" | "quiet" | "plain";
  size?: "small" | "medium";
  icon?: IconName;
  wide?: boolean;
}

interface ButtonProps extends Look, ButtonHTMLAttributes<HTMLButtonElement> {
  /** Under way: the button keeps its width and cannot be pressed again. */
  busy?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

function look({ kind = "plain", size, wide }: Look, iconOnly = false): string {
  return [styles["button"], styles[kind], size === "small" && styles["small"], wide && styles["wide"], iconOnly && styles["icon"]]
    .filter(Boolean)
    .join(" ");
}

export function Button({ kind, size, icon, wide, busy, children, disabled, type = "button", className, ...rest }: ButtonProps) {
  return (
    <button type={type} className={`${look({ kind, size, wide })} ${className ?? ""}`} disabled={disabled || busy} aria-busy={busy || undefined} {...rest}>
      {busy ? <span className={styles["busy"]} aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A button that is only an icon. Its `label` is read aloud, and shown on hover. */
export function IconButton({ label, icon, kind = "quiet", size, ...rest }: ButtonProps & { label: string; icon: IconName }) {
  return (
    <button type="button" className={look({ kind, size }, true)} aria-label={label} title={label} {...rest}>
      <Icon name={icon} />
    </button>
  );
}

/** What goes to another page is a link, also when it looks like a button. */
export function ButtonLink({ kind, size, icon, wide, children, ...rest }: Look & LinkProps & { children: ReactNode }) {
  return (
    <Link className={look({ kind, size, wide })} {...rest}>
      {icon && <Icon name={icon} />}
      {children}
    </Link>
  );
}

/** The same for an address that the server answers and not the console (a sign-in at a provider, a download). */
export function ButtonAnchor({ kind, size, icon, wide, children, href }: Look & { href: string; children: ReactNode }) {
  return (
    <a className={look({ kind, size, wide })} href={href}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  );
}
