namespace Kv.Protocol;

/// <summary>A reply would pass <see cref="OutputBuffer.LimitBytes"/>. The writer can be rewound and goes on.</summary>
public sealed class ReplyTooLargeException(long bytes)
    : Exception($"a reply of {bytes} bytes is larger than the output buffer may become")
{
    /// <summary>What the buffer would have had to hold.</summary>
    public long Bytes { get; } = bytes;
}
