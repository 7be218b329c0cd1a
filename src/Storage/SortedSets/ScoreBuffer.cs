using System.Buffers;

namespace Kv.Storage;

/// <summary>Members with their scores, copied out of a sorted set as of one instant, or to be added as one
/// step.</summary>
/// <inheritdoc cref="ElementBuffer" path="/remarks"/>
public sealed class ScoreBuffer : IScoreSink, IDisposable
{
    private readonly ElementBuffer _members = new();
    private double[] _scores = [];

    /// <summary>How many there are.</summary>
    public int Count => _members.Count;

    internal ElementBuffer Members => _members;

    /// <summary>One of them; valid until the buffer is next filled, emptied or disposed.</summary>
    /// <param name="index">From 0 to <see cref="Count"/> - 1.</param>
    public ReadOnlySpan<byte> Member(int index) => _members[index];

    /// <summary>Its score.</summary>
    /// <inheritdoc cref="Member" path="/param"/>
    public double Score(int index)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual((uint)index, (uint)Count, nameof(index));
        return _scores[index];
    }

    void IScoreSink.Write(ReadOnlySpan<byte> member, double score) => Add(member, score);

    /// <summary>Adds an element after the others.</summary>
    /// <exception cref="ArgumentException">The score is NaN.</exception>
    public void Add(ReadOnlySpan<byte> member, double score)
    {
        if (double.IsNaN(score)) throw new ArgumentException("A score is a number.", nameof(score));
        if (Count == _scores.Length)
        {
            double[] grown = ArrayPool<double>.Shared.Rent(Math.Max(16, Count * 2));
            _scores.CopyTo(grown, 0);
            if (_scores.Length != 0) ArrayPool<double>.Shared.Return(_scores);
            _scores = grown;
        }

        _members.Add(member);
        _scores[Count - 1] = score;
    }

    /// <summary>Forgets all.</summary>
    public void Clear() => _members.Clear();

    /// <inheritdoc cref="ElementBuffer.Dispose"/>
    public void Dispose()
    {
        _members.Dispose();
        if (_scores.Length != 0) ArrayPool<double>.Shared.Return(_scores);
        _scores = [];
    }
}
