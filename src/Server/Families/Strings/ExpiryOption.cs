using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;

namespace Kv.Server.Families;

/// <summary>EX, PX, EXAT or PXAT and its number. The number is looked at only after the rest of the command has been
/// found valid.</summary>
internal ref struct ExpiryOption
{
    private ReadOnlySpan<byte> _number;
    private long _unitMs;
    private bool _isAbsolute;

    public readonly bool IsGiven => _unitMs != 0;

    public static ExpiryOption Relative(ReadOnlySpan<byte> number, long unitMs) =>
        new() { _number = number, _unitMs = unitMs };

    /// <summary>Reads such an option. A word may be repeated, and the last number counts.</summary>
    public bool TryRead(ref CommandArguments args) =>
        TryRead(ref args, "EX"u8, 1000, false) || TryRead(ref args, "PX"u8, 1, false)
        || TryRead(ref args, "EXAT"u8, 1000, true) || TryRead(ref args, "PXAT"u8, 1, true);

    /// <summary>Computes the time of expiry.</summary>
    /// <param name="nowMs">Unix milliseconds.</param>
    /// <param name="invalid">The error for a time that is not positive, or past what 64 bits hold.</param>
    /// <param name="expiryMs">Unix milliseconds.</param>
    /// <returns>Empty, or an error.</returns>
    public readonly ReadOnlySpan<byte> Resolve(long nowMs, ReadOnlySpan<byte> invalid, out long expiryMs)
    {
        Debug.Assert(IsGiven, "there is a time to resolve");
        if (!NumberText.TryParseInt64(_number, out expiryMs)) return Errors.NotAnInteger;
        if (expiryMs <= 0 || expiryMs > long.MaxValue / _unitMs) return invalid;
        expiryMs *= _unitMs;
        if (_isAbsolute) return default;
        if (expiryMs > long.MaxValue - nowMs) return invalid;
        expiryMs += nowMs;
        return default;
    }

    private bool TryRead(ref CommandArguments args, ReadOnlySpan<byte> word, long unitMs, bool isAbsolute)
    {
        bool another = IsGiven && (_unitMs != unitMs || _isAbsolute != isAbsolute);
        if (another || !args.TryKeyword(word)) return false;
        (_unitMs, _isAbsolute) = (unitMs, isAbsolute);
        _number = args.NextBytes();
        return true;
    }
}
