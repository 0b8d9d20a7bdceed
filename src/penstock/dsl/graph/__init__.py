"""The flow of a definition as nodes, groups and edges, and that in the languages of drawing programs."""

from penstock.dsl.graph.drawing import Edge, Graph, Group, Node, TooManyParts, drawn, graph_of

__all__ = ["Edge", "Graph", "Group", "Node", "TooManyParts", "drawn", "graph_of"]
