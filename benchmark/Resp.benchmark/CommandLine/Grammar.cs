namespace RespBenchmark.CommandLine;

/// <summary>The four ways a command line can be read.</summary>
internal enum Grammar
{
    Native,
    Garnet,
    RedisBenchmark,
    RespBenchmark,
}
