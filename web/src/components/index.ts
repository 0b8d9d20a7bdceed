/** What every page is made of. */
export { Button, ButtonAnchor, ButtonLink, IconButton } from "./Button";
export { CodeBlock, KeyboardHint } from "./CodeBlock";
export { CopyButton } from "./CopyButton";
export { ConfirmDialog, Dialog, DialogActions } from "./Dialog";
export { EmptyState } from "./EmptyState";
export { ErrorState, ProblemNote } from "./ErrorState";
export { Checkbox, Field, Select, TextArea } from "./Field";
export { Icon, type IconName } from "./Icon";
export { JsonView } from "./JsonView";
export { Menu, type MenuEntry } from "./Menu";
export { Page, Section } from "./Page";
export { Pagination, usePage } from "./Pagination";
export { Skeleton, SkeletonLines } from "./Skeleton";
export { Badge, Status, toneOf, type Tone } from "./Status";
export { Table, type Column, type Sort } from "./Table";
export { LinkTabs, Tabs } from "./Tabs";
export { Duration, Time } from "./Time";
export { toast, toastProblem } from "./Toast";
