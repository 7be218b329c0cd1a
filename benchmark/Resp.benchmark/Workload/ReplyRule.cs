namespace RespBenchmark.Workload;

/// <summary>The replies that a command may get; an error is counted apart and never needs to be named.</summary>
[Flags]
internal enum ReplyRule : ushort
{
    None = 0,
    Status = 1,         // +
    Integer = 2,        // :
    Bulk = 4,           // $ and =
    Array = 8,          // * ~ >
    Map = 16,           // %
    Nil = 32,           // $-1 *-1 _
    Double = 64,        // ,
    Boolean = 128,      // #
    BigNumber = 256,    // (
    Any = 511,
}
