namespace RespBenchmark.Network;

/// <summary>The server refused what a connection begins with, or a request of a control connection.</summary>
/// <param name="text">The error reply as the server sent it, without its sign.</param>
internal sealed class TargetException(string text) : Exception(text);
