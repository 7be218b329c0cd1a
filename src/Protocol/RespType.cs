namespace Kv.Protocol;

/// <summary>The first byte of every frame, which says its type.</summary>
public static class RespType
{
    public const byte SimpleString = (byte)'+';
    public const byte Error = (byte)'-';
    public const byte Integer = (byte)':';
    public const byte Bulk = (byte)'$';
    public const byte Array = (byte)'*';

    // RESP3 only.
    public const byte Null = (byte)'_';
    public const byte Boolean = (byte)'#';
    public const byte Double = (byte)',';
    public const byte BigNumber = (byte)'(';
    public const byte BulkError = (byte)'!';
    public const byte Verbatim = (byte)'=';
    public const byte Map = (byte)'%';
    public const byte Set = (byte)'~';
    public const byte Attribute = (byte)'|';
    public const byte Push = (byte)'>';
}
